/**
 * Encodes and decodes journal entries as rows. The entry is sealed to its place; the members that SQL needs are columns
 * beside it. No other module encodes or decodes entries.
 */
import type { OrganisationVault } from "../../../actors/ports/Vault.js"
import type { JournalEntry } from "../../../domain/RunJournal.js"

/** The values of the column `kind`. */
export const entryKinds: { readonly [Kind in JournalEntry["kind"]]: number } = {
  start: 0,
  done: 1,
  timer: 2,
  attempt: 3
}

/** The columns of a row in a statement's JSON document, which carries bytes as base64. */
export const journalColumns = {
  id: "text",
  seq: "int",
  epoch: "int",
  kind: "smallint",
  call: "int",
  hash: "text",
  body: "text"
} as const

/** The expressions that insert these columns. */
export const journalValues = "id, seq, epoch, kind, call, hash, decode(body, 'base64')"

const placeOf = (id: string, seq: number) => ({ table: "journal", column: "body", row: `${id}/${seq}` }) as const

/** Seals an entry into its row. `epoch` is the writer's. */
export const encodeEntry = (
  vault: OrganisationVault,
  { epoch, id, seq }: { readonly id: string; readonly epoch: number; readonly seq: number },
  entry: JournalEntry
) => ({
  id,
  seq,
  epoch,
  kind: entryKinds[entry.kind],
  call: "call" in entry ? entry.call : null,
  hash: "hash" in entry ? entry.hash : null,
  body: Buffer.from(vault.seal(placeOf(id, seq), JSON.stringify(entry))).toString("base64")
})

export const decodeEntry = (
  vault: OrganisationVault,
  id: string,
  { body, seq }: { readonly seq: number; readonly body: Uint8Array }
): JournalEntry =>
  // Sealed by `encodeEntry`: its shape is that of an entry.
  JSON.parse(Buffer.from(vault.open(placeOf(id, seq), body)).toString()) as JournalEntry

/** A condition on `runs`: the run has recorded more than its start, so a replay on another engine might diverge. */
export const hasHistory = `EXISTS (SELECT FROM journal j WHERE j.id = runs.id AND j.kind <> ${entryKinds.start})`
