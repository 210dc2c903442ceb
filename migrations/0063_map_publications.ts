/**
 * What was in force of an organisation's field maps and connectors, and since when: a log, in the order of its revisions, to
 * which versions of workflows refer.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

export default script(
  // entity, model, field_map_id: null for a version of a connector. number: null where an override was deleted.
  // field_map_id refers to nothing, so that a version whose map was deleted says so.
  `CREATE TABLE map_publications (org text COLLATE "C" NOT NULL REFERENCES organisations ON DELETE CASCADE, revision int NOT NULL,
     connector text COLLATE "C" NOT NULL, entity text COLLATE "C", model text COLLATE "C",
     customer_id text COLLATE "C" REFERENCES customers ON DELETE CASCADE, field_map_id text COLLATE "C", number int,
     connector_version text COLLATE "C", at timestamptz NOT NULL, PRIMARY KEY (org, revision))`,
  "CREATE INDEX map_publications_place ON map_publications (org, connector, entity, model, revision)",
  "CREATE INDEX map_publications_customer ON map_publications (customer_id) WHERE customer_id IS NOT NULL",
  `INSERT INTO map_publications (org, revision, connector, entity, model, customer_id, field_map_id, number, connector_version, at)
   SELECT org, row_number() OVER (PARTITION BY org ORDER BY at, connector), connector, entity, model, customer_id, field_map_id,
     number, connector_version, at
   FROM (SELECT m.org, m.connector, m.entity, m.model, m.customer_id, m.id AS field_map_id, m.published AS number,
       NULL::text AS connector_version, m.updated_at AS at FROM field_maps m WHERE m.published IS NOT NULL
     UNION ALL
     SELECT c.org, c.slug, NULL, NULL, NULL, NULL, NULL, v.semver, v.published_at FROM connectors c
       JOIN LATERAL (SELECT semver, published_at FROM connector_versions
         WHERE connector_id = c.id AND published_at IS NOT NULL ORDER BY number DESC LIMIT 1) v ON true
       WHERE c.deleted_at IS NULL) known`
).pipe(Effect.zipRight(tenantTable("map_publications", { app: "SELECT, INSERT", writer: "SELECT, UPDATE" })))
