/** Parsers of what was stored or crossed a process: journal entries, payloads, results, outputs of guests, secrets. */
import { Effect, Redacted } from "effect"
import { types } from "pg"
import { secretResult } from "../../../src/actors/execution/calls/HostCalls.js"
import type { OrganisationVault } from "../../../src/actors/ports/Vault.js"
import { Vault } from "../../../src/actors/ports/Vault.js"
import type { EventId, OrganisationId, SecretId } from "../../../src/domain/Ids.js"
import { computationLimits } from "../../../src/runtime/computing/ComputationLimits.js"
import { bodyBytes, guest, keyValue, largeWebhookBytes, secretLength } from "../../../src/domain/Limits.js"
import { recordedValue } from "../../../src/domain/run/RunJournal.js"
import { openValues } from "../../../src/runtime/audit/AuditQueries.js"
import { isReadable, readAnswer } from "../../../src/runtime/computing/Protocol.js"
import { exactPayload } from "../../../src/runtime/postgres/event/EventRows.js"
import { decodeEntry, decodeResult } from "../../../src/runtime/postgres/journal/JournalRow.js"
import { readState } from "../../../src/runtime/postgres/run/StateRow.js"
import { OutputReader } from "../../../src/runtime/sandbox/OutputReader.js"
import { framesOf } from "../../../src/runtime/telemetry/SafeError.js"
import { isValidJson, worstJson, worstJsonBytes } from "./JsonTexts.js"
import { type Parser, parser, repeated } from "./Parser.js"

/** A vault whose sealed values are the plain ones: opening costs by the length, and is not what is measured. */
const openVault: OrganisationVault = {
  seal: (_, plain) => Buffer.from(plain),
  open: (_, sealed) => sealed
}
const vault = Vault.of({
  cached: () => undefined,
  seal: () => Effect.dieMessage("seal"),
  open: () => Effect.dieMessage("open"),
  of: () => Effect.succeed(openVault),
  opener: () => Effect.succeed(openVault)
})

const place = { id: "evt_1" as EventId, organisationId: "org_1" as OrganisationId, payload: null }

/** What was stored was valid JSON when it was accepted. */
const storedJson = Object.fromEntries(Object.entries(worstJson).filter(([name]) => isValidJson(name)))
const storedBytes = Object.fromEntries(Object.entries(worstJsonBytes).filter(([name]) => isValidJson(name)))

const around =
  (before: string, after: string) =>
  (make: (size: number) => string) =>
  (size: number): Uint8Array =>
    Buffer.from(`${before}${make(size)}${after}`)

const rowsOf = (before: string, after: string) =>
  Object.fromEntries(Object.entries(storedJson).map(([name, make]) => [name, around(before, after)(make)]))

/** Outputs of a turn that are read up to their last slice, in which the last output is parsed. */
const lastSlice = (size: number, make: (size: number) => string): OutputReader => {
  const text = Buffer.from(`[[{"t":"call","id":1,"args":[${make(size)}]}]]`)
  const reader = new OutputReader(text)
  // A reader whose time is over reads 64 KiB.
  for (let at = 0; at + 64 * 1024 < text.length; at += 64 * 1024) reader.read(0)
  return reader
}

const stateKey = { org: "org_1", space: "spc_1", scope: "WORKSPACE", environment: "live", owner: "", key: "a" }

const jsonb = 3802

export const storedParsers: ReadonlyArray<Parser> = [
  parser(
    "src/runtime/postgres/event/EventRows.ts#exactPayload",
    largeWebhookBytes,
    (sealed: Uint8Array) => Effect.runSync(exactPayload(vault, { ...place, sealed })),
    storedBytes
  ),
  parser(
    "src/runtime/postgres/database/Pools.ts#getTypeParser",
    guest.outputBytes,
    (text: string) => types.getTypeParser(jsonb, "text")(text),
    storedJson
  ),
  parser(
    "src/runtime/postgres/journal/JournalRow.ts#decodeEntry",
    guest.inputBytes,
    (body: Uint8Array) => decodeEntry(openVault, "run", { seq: 0, kind: 0, body }),
    rowsOf('{"kind":"start","at":0,"input":', "}")
  ),
  parser(
    "src/runtime/postgres/journal/JournalRow.ts#decodeResult",
    guest.fetchBytes,
    (body: Uint8Array) => decodeResult(openVault, "run", { seq: 1, kind: 4, body }),
    rowsOf('{"kind":"done","call":1,"hash":"a","at":0,"ok":true}\n', "")
  ),
  parser(
    "src/runtime/postgres/journal/JournalRow.ts#decodeEarlierResult",
    guest.fetchBytes,
    (body: Uint8Array) => decodeResult(openVault, "run", { seq: 1, kind: 1, body }),
    rowsOf('{"kind":"done","call":1,"at":0,"hash":"a","result":{"ok":true,"value":', "}}")
  ),
  parser(
    "src/domain/run/RunJournal.ts#recordedValue",
    guest.fetchBytes,
    (json: Uint8Array) => recordedValue({ at: 0, ok: true, json }),
    storedBytes
  ),
  parser(
    ["src/runtime/sandbox/OutputReader.ts#OutputReader", "src/runtime/sandbox/OutputReader.ts#readOutputs"],
    guest.fetchBytes,
    (reader: OutputReader) => reader.read(Number.POSITIVE_INFINITY),
    Object.fromEntries(
      Object.entries(storedJson).map(([name, make]) => [name, (size: number) => lastSlice(size, make)])
    )
  ),
  parser(
    "src/actors/execution/calls/HostCalls.ts#parseJson",
    secretLength,
    (text: string) =>
      secretResult({ secretId: "sec_1" as SecretId, number: 1, type: "json", value: Redacted.make(text) }),
    storedJson
  ),
  parser(
    "src/runtime/postgres/run/StateRow.ts#readState",
    keyValue.valueBytes,
    (sealed: Uint8Array) => readState(openVault, stateKey, { clear: null, sealed }),
    storedBytes
  ),
  parser(
    "src/runtime/computing/Protocol.ts#readAnswer",
    computationLimits.answerBytes,
    (text: string) => readAnswer(text),
    // The worker sends no other answer.
    Object.fromEntries(
      Object.entries(storedJson).map(([name, make]) => [
        name,
        (size: number) => {
          const text = make(size)
          return isReadable(text) ? text : "null"
        }
      ])
    )
  ),
  parser(
    "src/runtime/audit/AuditQueries.ts#openValues",
    bodyBytes.management,
    (sealed: Uint8Array) => openValues(openVault, "aud_1", sealed),
    storedBytes
  ),
  parser(
    "src/runtime/telemetry/SafeError.ts#framesOf",
    1024 * 1024,
    (stack: string) => framesOf(Object.assign(new Error("a"), { stack, message: "" })),
    {
      "one long frame": (size) => `    at ${repeated("a (/")(size)}`,
      "numbers of lines": (size) => `    at /a${repeated(":1")(size)}a`,
      frames: repeated("\n    at a (/a:1:1)"),
      spaces: repeated(" ")
    }
  )
]
