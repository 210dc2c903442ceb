/**
 * The sessions of the login of whoever asks, which Postgres shows and lets end only to that login itself. A login for all roles
 * (`SVC_DATABASE_URL`) sets its role as it connects, and as that role may do neither: for the one statement it is itself again.
 */

/** A table for FROM, of the session's columns of `pg_stat_get_activity`. Its statement runs without the role. */
export const ownSessions = `(
    SELECT activity.* FROM (SELECT set_config('role', 'none', true) AS role OFFSET 0) AS login,
      LATERAL pg_stat_get_activity(CASE WHEN login.role = 'none' THEN NULL::int ELSE 0 END) AS activity
    WHERE activity.usesysid = (SELECT oid FROM pg_roles WHERE rolname = session_user)
  ) AS own_sessions`

/** The condition that a session is of the process whose name is the first parameter. */
export const isOfProcess = "right(application_name, length($1) + 1) = ' ' || $1"
