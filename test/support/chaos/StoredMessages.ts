/** What a NATS server has stored, read from its files: it keeps the bytes of messages as they were sent. */
import * as fs from "node:fs"
import * as path from "node:path"

export interface StoredMessages {
  /** How many messages name an event. */
  readonly events: number
  /** The surroundings of each occurrence of the mark. */
  readonly marked: ReadonlyArray<string>
}

/** Reads the store of a server, whether it runs or not. */
export const readStoredMessages = (store: string, mark: string): StoredMessages => {
  const files = fs.existsSync(store) ? fs.readdirSync(store, { recursive: true, encoding: "utf8" }) : []
  const found = { events: 0, marked: Array<string>() }
  for (const name of files.filter((one) => one.endsWith(".blk"))) {
    const text = readOrEmpty(path.join(store, name))
    found.events += text.split("evt_").length - 1
    for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + 1))
      found.marked.push(text.slice(Math.max(0, at - 100), at + 100))
  }
  return found
}

/** The server removes files while they are read. */
const readOrEmpty = (file: string): string => {
  try {
    return fs.readFileSync(file, "latin1")
  } catch {
    return ""
  }
}
