/**
 * The parts of a flush that decide which changes are accepted: `ok` has their ids. A change is accepted if its run still
 * has the writer's epoch and its node the seat, its keys were free, and its event's place in the queue and its dead letter
 * were still there.
 */
import { selectOwned } from "./Fence.js"
import { type FlushPart, type HasPart, type PreparedUnit, recordset, type Row } from "./FlushPart.js"
import { timestamp } from "./RunColumns.js"
import { settlements } from "./SettledEvents.js"
import { claimOfUnit, settlementOf } from "./Unit.js"

const changeColumns = {
  id: "text",
  org: "text",
  fenced: "boolean",
  scope: "text",
  key: "text",
  signature_key: "text",
  hash: "text",
  expires_at: "timestamptz",
  takes: "text",
  claims: "int",
  letter: "text",
  seat: "text"
}

/** One row for each id of the unit. All of them depend on the same claim or place in the queue, so none commits alone. */
const changeRows = ({ ids, unit }: PreparedUnit): ReadonlyArray<Row> => {
  const claim = claimOfUnit(unit)
  const settlement = settlementOf(unit)
  return ids.map((id, n) => ({
    id,
    org: unit.organisationId,
    fenced: unit.runs[n] !== undefined && unit.runs[n].epoch !== null,
    scope: claim?.scope ?? null,
    key: claim?.key ?? null,
    signature_key: claim?.signatureKey ?? null,
    hash: claim?.hash ?? null,
    expires_at: timestamp(claim?.expiresAt ?? null),
    takes: settlement?.eventId ?? null,
    claims: settlement?.claims ?? null,
    letter: unit.event?.replays ?? null,
    seat: unit.runs[n]?.seat ?? null
  }))
}

const changes: FlushPart = {
  text: ({ next }) => [`ch AS MATERIALIZED (SELECT * FROM ${recordset(next(), changeColumns)})`],
  values: ({ units }) => [JSON.stringify(units.flatMap(changeRows))]
}

/** Locks the runs that still have the epochs of their writers. */
const fence: FlushPart = {
  when: ({ runs }) => runs.some(({ epoch }) => epoch !== null),
  text: ({ next }) => [`owned AS MATERIALIZED (${selectOwned(next(), next())})`],
  values: ({ runs }) => {
    const ids: Array<string> = []
    const epochs: Array<number> = []
    for (const { epoch, id } of runs) {
      if (epoch === null) continue
      ids.push(id)
      epochs.push(epoch)
    }
    return [ids, epochs]
  }
}

/** The seats of nodes, which nobody takes away before the transaction ends. */
const seats: FlushPart = {
  when: ({ runs }) => runs.some(({ seat }) => seat !== undefined),
  text: () => [
    `seats AS MATERIALIZED (SELECT n.id FROM nodes n WHERE n.id = ANY (ARRAY(SELECT seat FROM ch WHERE seat IS NOT NULL))
     FOR KEY SHARE)`
  ]
}

/** Whether the change needs no seat, or has it. A refused one must take no claim and leave its event in the queue. */
const isSeated = (has: HasPart): string =>
  has(seats) ? "(ch.seat IS NULL OR ch.seat IN (SELECT seats.id FROM seats))" : "true"

// --- Claims ---

// A claim that has expired is free, even if it is not yet purged.
const takeClaims = (name: string, column: string, condition: string) =>
  `${name} AS (INSERT INTO claims (org, scope, key, target_id, hash, expires_at)
    SELECT org, scope, ${column}, id, hash, expires_at FROM ch WHERE ${condition} ORDER BY org, scope, ${column}
    ON CONFLICT (org, scope, key) DO UPDATE SET target_id = excluded.target_id, hash = excluded.hash,
      expires_at = excluded.expires_at WHERE claims.expires_at < now()
    RETURNING org, scope, key, target_id)`

const isFree = `(SELECT 1 FROM claims c WHERE c.org = ch.org AND c.scope = ch.scope AND c.key = ch.key
    AND c.expires_at >= now() LIMIT 1) IS NULL`

/**
 * Takes the second keys of claims. A change takes both of its keys or none. Only whose signature is new takes the key with
 * its id: a repetition, whose id anyone can choose, takes none; only whose id is new takes its signature, so that it stays
 * free for the first event with it.
 */
export const signatures: FlushPart = {
  when: ({ units }) => units.some(({ unit }) => claimOfUnit(unit)?.signatureKey !== undefined),
  text: ({ has }) => [
    takeClaims("signatures", "signature_key", `signature_key IS NOT NULL AND ${isFree} AND ${isSeated(has)}`)
  ]
}

/** Takes the first keys of claims. */
export const claims: FlushPart = {
  when: ({ units }) => units.some(({ unit }) => claimOfUnit(unit) !== undefined),
  text: ({ has }) => [
    takeClaims(
      "taken",
      "key",
      `key IS NOT NULL AND ${isSeated(has)} AND ${
        has(signatures)
          ? "(signature_key IS NULL OR (org, scope, signature_key) IN (SELECT s.org, s.scope, s.key FROM signatures s))"
          : "true"
      }`
    )
  ]
}

// --- Places in the queue and dead letters ---

/** The places in the start queue whose lease the batch still has. Whoever deletes one decides what its event starts. */
const takenPlaces: FlushPart = {
  text: ({ has }) =>
    has(settlements)
      ? [
          `gone AS (DELETE FROM start_queue q USING (SELECT DISTINCT takes, claims FROM ch WHERE takes IS NOT NULL AND ${isSeated(has)}) c
    WHERE q.id = ANY (ARRAY(SELECT takes FROM ch WHERE takes IS NOT NULL)) AND q.id = c.takes AND q.claims = c.claims
    RETURNING q.id)`
        ]
      : []
}

/** Dead letters that the batch replays: the transaction that changes their state replays them. */
const replays: FlushPart = {
  when: ({ units }) => units.some(({ unit }) => unit.event?.replays !== undefined),
  text: () => [
    `again AS (UPDATE dead_letters d SET status = 'replayed' FROM (SELECT letter FROM ch WHERE letter IS NOT NULL) c
    WHERE d.id = ANY (ARRAY(SELECT letter FROM ch WHERE letter IS NOT NULL)) AND d.id = c.letter
      AND d.status IN ('pending', 'replaying') RETURNING d.id)`
  ]
}

/** An earlier try may have committed events of the batch: adds conditions to other parts. */
export const resentEvents: FlushPart = {
  when: ({ isResend, units }) => isResend && units.some(({ unit }) => unit.event?.receives !== undefined),
  text: () => []
}

const accepted: FlushPart = {
  text: ({ has }) => [
    `ok AS MATERIALIZED (SELECT ch.id FROM ch
     ${has(fence) ? "LEFT JOIN owned ON owned.id = ch.id" : ""}
     ${has(claims) ? "LEFT JOIN taken ON taken.org = ch.org AND taken.scope = ch.scope AND taken.key = ch.key" : ""}
     WHERE ${has(fence) ? "(NOT ch.fenced OR owned.id IS NOT NULL)" : "true"}
       AND ${isSeated(has)}
       AND ${has(claims) ? "(ch.key IS NULL OR taken.key IS NOT NULL)" : "true"}
       AND ${has(settlements) ? "(ch.takes IS NULL OR ch.takes IN (SELECT gone.id FROM gone))" : "true"}
       AND ${has(replays) ? "(ch.letter IS NULL OR ch.letter IN (SELECT again.id FROM again))" : "true"}
       AND ${
         // The first try may have committed, and its event may be settled by now.
         has(resentEvents)
           ? "ch.id <> ALL (ARRAY(SELECT er.id FROM event_records er WHERE er.id = ANY (ARRAY(SELECT id FROM ch))))"
           : "true"
       })`
  ]
}

/** In the order of their text: `accepted` reads what the others decide. */
export const acceptedChanges: ReadonlyArray<FlushPart> = [
  changes,
  fence,
  seats,
  signatures,
  claims,
  takenPlaces,
  replays,
  resentEvents,
  accepted
]
