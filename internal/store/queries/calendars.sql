-- name: ListCalendars :many
SELECT name, title, dates, updated_at, updated_by FROM ax.calendars
WHERE namespace_id = @namespace_id AND name > @after ORDER BY name LIMIT @most;

-- name: CalendarsNamed :many
SELECT name, title, dates, updated_at, updated_by FROM ax.calendars
WHERE namespace_id = @namespace_id AND name = ANY (@names::text[]) ORDER BY name;

-- name: LockCalendars :many
SELECT name, title, dates, updated_at, updated_by FROM ax.calendars
WHERE namespace_id = @namespace_id AND name = ANY (@names::text[]) ORDER BY name FOR SHARE;

-- name: PutCalendar :exec
INSERT INTO ax.calendars (namespace_id, name, title, dates, updated_by) VALUES (@namespace_id, @name, @title, @dates, @actor)
ON CONFLICT (namespace_id, name) DO UPDATE SET title = excluded.title, dates = excluded.dates, updated_by = excluded.updated_by, updated_at = now();

-- name: LockCalendar :one
SELECT name FROM ax.calendars WHERE namespace_id = @namespace_id AND name = @name FOR UPDATE;

-- name: CalendarUsers :many
SELECT DISTINCT w.code FROM ax.workflows w JOIN ax.schedules s ON s.workflow_id = w.id
WHERE w.namespace_id = @namespace_id AND s.removed_at IS NULL
  AND EXISTS (SELECT FROM json_array_elements(s.spec -> 'calendars') u WHERE u ->> 'name' = @name::text)
ORDER BY w.code LIMIT 10;

-- name: DeleteCalendar :exec
DELETE FROM ax.calendars WHERE namespace_id = @namespace_id AND name = @name;

-- name: CalendarsOfSchedules :many
-- The calendars that some schedules use.
SELECT s.id AS schedule_id, c.name, c.dates FROM ax.schedules s
JOIN ax.workflows w ON w.id = s.workflow_id
CROSS JOIN LATERAL json_array_elements(s.spec -> 'calendars') u
JOIN ax.calendars c ON c.namespace_id = w.namespace_id AND c.name = u ->> 'name'
WHERE s.id = ANY (@ids::bigint[]);
