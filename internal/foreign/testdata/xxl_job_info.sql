-- MySQL dump 10.13
/*!40101 SET NAMES utf8mb4 */;
CREATE TABLE `xxl_job_info` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `job_group` int(11) NOT NULL COMMENT '执行器主键ID',
  `job_desc` varchar(255) NOT NULL,
  `add_time` datetime DEFAULT NULL,
  `update_time` datetime DEFAULT NULL,
  `author` varchar(64) DEFAULT NULL COMMENT '作者',
  `alarm_email` varchar(255) DEFAULT NULL,
  `schedule_type` varchar(50) NOT NULL DEFAULT 'NONE',
  `schedule_conf` varchar(128) DEFAULT NULL,
  `misfire_strategy` varchar(50) NOT NULL DEFAULT 'DO_NOTHING',
  `executor_route_strategy` varchar(50) DEFAULT NULL,
  `executor_handler` varchar(255) DEFAULT NULL,
  `executor_param` varchar(512) DEFAULT NULL,
  `executor_block_strategy` varchar(50) DEFAULT NULL,
  `executor_timeout` int(11) NOT NULL DEFAULT '0',
  `executor_fail_retry_count` int(11) NOT NULL DEFAULT '0',
  `glue_type` varchar(50) NOT NULL,
  `glue_source` mediumtext,
  `glue_remark` varchar(128) DEFAULT NULL,
  `glue_updatetime` datetime DEFAULT NULL,
  `child_jobid` varchar(255) DEFAULT NULL,
  `trigger_status` tinyint(4) NOT NULL DEFAULT '0',
  `trigger_last_time` bigint(13) NOT NULL DEFAULT '0',
  `trigger_next_time` bigint(13) NOT NULL DEFAULT '0',
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
INSERT INTO `xxl_job_info` VALUES (1,1,'夜间对账','2018-11-03 22:21:31','2018-11-03 22:21:31','张三','ops@example.org','CRON','0 30 2 * * ? *','FIRE_ONCE_NOW','FIRST','reconcileHandler','{\"day\":\"T-1\"}','SERIAL_EXECUTION',600,3,'BEAN','','GLUE代码初始化','2018-11-03 22:21:31','2,9',1,0,0),(2,1,'send; report','2018-11-03 22:21:31','2018-11-03 22:21:31','li''si','','NONE','','DO_NOTHING','SHARDING_BROADCAST','reportHandler','','DISCARD_LATER',0,0,'BEAN','','',NULL,'',0,0,0);
INSERT INTO `xxl_job_info` VALUES (3,1,'clean up',NULL,NULL,'wang','','FIX_RATE','30','DO_NOTHING','LEAST_FREQUENTLY_USED','','seven','COVER_EARLY',0,0,'GLUE_SHELL','#!/bin/bash\necho \"hello $1\"\nrm -rf /tmp/scratch/*\n','v1',NULL,'',1,0,0);
INSERT INTO `xxl_job_log` VALUES (1,1,1,'ignored');
