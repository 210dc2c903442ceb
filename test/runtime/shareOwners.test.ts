/** Who owns a share: an organisation's account, by its record, its run, or its id alone. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ShareOwners } from "../../src/actors/ports/organisation/ShareOwners.js"
import { OrganisationId } from "../../src/domain/Ids.js"
import { ownerOfOrganisation, ownerOfRun } from "../../src/domain/share/ShareOwner.js"
import { layer as shareOwners } from "../../src/runtime/postgres/organisation/ShareOwners.js"
import { layer as database, ownerSql } from "../support/Database.js"
import { insertFamily } from "../support/family.js"
import { layer } from "../support/layer.js"
import { ownerOf } from "../support/shareOwners.js"

const idOf = (n: number) => OrganisationId.make(`org_01jd000000000000000000000${n}`)
const [parent, child, nowhere] = [idOf(1), idOf(2), idOf(3)]

describe("the owner of a share", () => {
  it("is an organisation's parent, or itself, with the organisation that uses it", () => {
    assert.deepStrictEqual(ownerOfOrganisation({ id: child, parentId: parent }), ownerOf(child, parent))
    assert.deepStrictEqual(ownerOfOrganisation({ id: parent, parentId: null }), ownerOf(parent))
  })

  it("is the account that a run's record names, and of a record without one its organisation", () => {
    const run = { organisationId: child }
    assert.deepStrictEqual(ownerOfRun({ ...run, record: { accountId: parent } }), ownerOf(child, parent))
    assert.deepStrictEqual(ownerOfRun({ ...run, record: {} }), ownerOf(child))
  })

  layer(shareOwners.pipe(Layer.provideMerge(database)), { excludeTestServices: true })((it) => {
    it.effect("is found by an organisation's id, and kept", () =>
      Effect.gen(function* () {
        const owners = yield* ShareOwners
        assert.deepStrictEqual(yield* owners.of(nowhere), ownerOf(nowhere))
        yield* insertFamily(parent, [child])
        assert.deepStrictEqual(yield* owners.of(child), ownerOf(child, parent))
        assert.deepStrictEqual(yield* owners.of(parent), ownerOf(parent))
        yield* Effect.flatMap(ownerSql, (sql) => sql`DELETE FROM organisations WHERE id = ${child}`)
        assert.deepStrictEqual(yield* owners.of(child), ownerOf(child, parent))
        // One that was not found is asked for again.
        yield* insertFamily(parent, [nowhere])
        assert.deepStrictEqual(yield* owners.of(nowhere), ownerOf(nowhere, parent))
      }).pipe(Effect.scoped)
    )
  })
})
