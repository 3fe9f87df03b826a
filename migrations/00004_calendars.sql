-- +goose Up

-- Named sets of dates, such as public holidays, that schedules include or exclude.
CREATE TABLE ax.calendars (
    namespace_id bigint NOT NULL REFERENCES ax.namespaces,
    name text COLLATE "C" NOT NULL,
    title text NOT NULL DEFAULT '',
    dates date[] NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by text NOT NULL,
    PRIMARY KEY (namespace_id, name)
);

-- Where an interval was counted from while a spec was valid, so that its instants of then can be told.
ALTER TABLE ax.schedule_specs ADD COLUMN anchor timestamptz;

-- +goose Down

ALTER TABLE ax.schedule_specs DROP COLUMN anchor;
DROP TABLE ax.calendars;
