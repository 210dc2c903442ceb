/** Organisations with a parent, in a test's database. */
import { Effect } from "effect"
import { ownerSql } from "./Database.js"

/** Inserts a parent and its children, unless they are there. */
export const insertFamily = (parent: string, children: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* ownerSql
    yield* sql`INSERT INTO organisations (id, name, slug, plan) VALUES (${parent}, ${parent}, ${parent}, 'unlimited')
      ON CONFLICT DO NOTHING`
    yield* sql`INSERT INTO organisations (id, name, slug, plan, parent_id)
      SELECT id, id, id, 'unlimited', ${parent} FROM unnest(${children}::text[]) AS id ON CONFLICT DO NOTHING`
  }).pipe(Effect.scoped)
