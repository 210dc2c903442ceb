/**
 * An entry of a run's journal as its row: the entry is sealed to its place, and a few members stand beside it as columns
 * for SQL. The only place that encodes and decodes entries.
 */
import type { OrganisationVault } from "../../../actors/ports/Vault.js"
import type { JournalEntry } from "../../../domain/RunJournal.js"

/** How the column `kind` holds the kind of an entry. */
export const entryKinds: { readonly [Kind in JournalEntry["kind"]]: number } = {
  start: 0,
  done: 1,
  timer: 2,
  attempt: 3
}

/** The columns of a row as JSON carries it: bytes travel as base64. */
export const journalColumns = {
  id: "text",
  seq: "int",
  epoch: "int",
  kind: "smallint",
  call: "int",
  hash: "text",
  body: "text"
} as const

/** The columns as they are inserted. */
export const journalValues = "id, seq, epoch, kind, call, hash, decode(body, 'base64')"

const placeOf = (id: string, seq: number) => ({ table: "journal", column: "body", row: `${id}/${seq}` }) as const

/** `epoch`: of the writer. */
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

/** The run in `runs` has recorded more than its start, so that another engine might contradict it. */
export const hasHistory = `EXISTS (SELECT FROM journal j WHERE j.id = runs.id AND j.kind <> ${entryKinds.start})`
