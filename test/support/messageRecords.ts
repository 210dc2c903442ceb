/**
 * Messages between nodes as this release sends them, in bytes: later releases must decode them. `npm run generate` writes
 * those of this release; the files of earlier ones stay as they are.
 */
import { Arbitrary, FastCheck, Schema } from "effect"
import { frames } from "../../src/runtime/cluster/Frames.js"
import { serviceRelease } from "../../src/domain/run/ServiceRelease.js"
import { messageSchemas } from "./messageLock.js"

/** Protocol → message → frames in base64. */
export type MessageRecords = Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>>

export const recordsFolder = "test/runtime/messages"

/** The file of this release. */
export const recordsFile = `${recordsFolder}/${serviceRelease}.json`

/** The same with each run, so that the file changes with the messages only. */
const seed = 64
const samples = 3

export const recordMessages = (): string => {
  const records: MessageRecords = Object.fromEntries(
    Object.entries(messageSchemas()).map(([protocol, schemas]) => [
      protocol,
      Object.fromEntries(Object.entries(schemas).map(([message, schema]) => [message, recorded(schema)]))
    ])
  )
  return `${JSON.stringify(records, null, 1)}\n`
}

const recorded = (schema: Schema.Schema.AnyNoContext): ReadonlyArray<string> => {
  if (schema.ast._tag === "NeverKeyword" || schema.ast._tag === "VoidKeyword") return []
  const values = FastCheck.sample(Arbitrary.make(schema), { numRuns: samples, seed })
  return values.map((value) => toText(Schema.encodeSync(schema)(value)))
}

const toText = (encoded: unknown): string => Buffer.from(frames.unsafeMake().encode(encoded) ?? []).toString("base64")

/** The message of a recorded frame, as it is before its schema decodes it. */
export const readRecord = (text: string): unknown => frames.unsafeMake().decode(Buffer.from(text, "base64"))[0]
