/** Hears every message that passes a NATS server, from whichever node, also after the server was away. */
import { connect } from "nats"

export interface Messages {
  /** How many named an event. */
  readonly events: () => number
  /** Those with the mark. */
  readonly marked: ReadonlyArray<string>
  readonly close: () => Promise<void>
}

export const hearMessages = async (url: string, mark: string): Promise<Messages> => {
  const connection = await connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 100 })
  const marked: Array<string> = []
  let events = 0
  connection.subscribe(">", {
    callback: (_error, message) => {
      const text = `${message.subject} ${message.string()}`
      if (text.includes("evt_")) events++
      if (text.includes(mark)) marked.push(text.slice(0, 300))
    }
  })
  await connection.flush()
  return { events: () => events, marked, close: () => connection.close() }
}
