/**
 * Keeps a copy of each domain event of a service within the test's process, as `kept_domain_events`: the service publishes and
 * removes the events themselves at any moment.
 */
import { Effect, Redacted } from "effect"
import { Client } from "pg"
import { TestDatabase } from "./Database.js"

const statements = [
  "CREATE TABLE kept_domain_events (LIKE domain_events)",
  "GRANT SELECT ON kept_domain_events TO svc_writer",
  `CREATE FUNCTION keep_domain_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS
   $$ BEGIN INSERT INTO kept_domain_events VALUES (NEW.*); RETURN NULL; END $$`,
  "CREATE TRIGGER kept AFTER INSERT ON domain_events FOR EACH ROW EXECUTE FUNCTION keep_domain_event()"
]

export const keepDomainEvents = Effect.flatMap(TestDatabase, ({ admin }) =>
  Effect.promise(async () => {
    const client = new Client({ connectionString: Redacted.value(admin) })
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  })
)
