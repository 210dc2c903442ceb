/** Reads a stream of server-sent events by `fetch`, which can send the page's own headers. */

export interface StreamEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** Splits a text into events. What is left begins the next one. */
export const splitEvents = (text: string): readonly [events: ReadonlyArray<StreamEvent>, rest: string] => {
  const parts = text.split(/\r?\n\r?\n/)
  const rest = parts.pop() ?? ""
  return [parts.flatMap((part) => eventOf(part)), rest]
}

const eventOf = (part: string): ReadonlyArray<StreamEvent> => {
  const fields = { id: "", event: "message", data: [] as ReadonlyArray<string> }
  for (const line of part.split(/\r?\n/)) {
    const at = line.indexOf(":")
    if (at <= 0) continue
    const value = line.slice(at + 1).replace(/^ /, "")
    const name = line.slice(0, at)
    if (name === "id") fields.id = value
    if (name === "event") fields.event = value
    if (name === "data") fields.data = [...fields.data, value]
  }
  // One that has an id only tells where the stream is.
  return fields.data.length === 0 && fields.id === "" ? [] : [{ ...fields, data: fields.data.join("\n") }]
}

/** Calls `take` for each event until the stream ends. Rejects when it breaks off. */
export const readEvents = async (
  body: ReadableStream<Uint8Array>,
  take: (event: StreamEvent) => void
): Promise<void> => {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ""
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const [events, rest] = splitEvents(text + decoder.decode(value, { stream: true }))
      text = rest
      events.forEach(take)
    }
  } finally {
    reader.releaseLock()
  }
}
