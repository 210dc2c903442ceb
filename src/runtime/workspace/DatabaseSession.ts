/**
 * One connection of a workspace. It counts the bytes of a response on the socket, before the protocol parser gets them,
 * and closes at the limit. An exception in a listener of the socket ends the call, never the process.
 */
import { Client, type ClientConfig, Query, type QueryConfig } from "pg"
import type { Holding } from "../../actors/ports/HeldBytes.js"
import type { Json } from "../../domain/Json.js"
import { workspaceDb } from "../../domain/Limits.js"
import { areScalars, encodeParameters, type Scalar } from "./Parameters.js"
import { parameterTypesOf } from "./ParameterTypes.js"

/** The result of a statement, its values as the text that Postgres sent. */
export interface RawResult {
  readonly rows: ReadonlyArray<ReadonlyArray<string | null>>
  readonly rowCount: number
  readonly command: string
  readonly fields: ReadonlyArray<{ readonly name: string; readonly type: number }>
}

/** The response is larger than a call's limit. */
export class TooLarge extends Error {}

/** There was no memory for the response in time. */
export class NoRowMemory extends Error {}

export interface DatabaseSession {
  /** The process id of the server process. */
  readonly pid: number
  /** False if the session must not be used again. */
  readonly isUsable: () => boolean
  /**
   * Runs one statement with the extended protocol, which rejects several. One at a time. `holding`: counts the bytes of
   * the response as they come. Rejects with `Unsendable` if a parameter does not fit its type.
   */
  readonly query: (sql: string, params: ReadonlyArray<Json>, holding?: Holding) => Promise<RawResult>
  /** Runs statements of the service itself, with the simple protocol. */
  readonly control: (sql: string) => Promise<void>
  /** Closes the socket; a pending call fails with `cause`. The server may still compute. */
  readonly abort: (cause: Error) => void
  /** Ends the session properly. */
  readonly end: () => Promise<void>
}

/** Opens a session. `onDefect`: a listener threw; its report quotes no tenant. */
export const openSession = async (
  config: ClientConfig,
  onDefect: (cause: unknown) => void
): Promise<DatabaseSession> => {
  const client = new Client(config)
  let usable = true
  let received = 0
  let holding: Holding | undefined
  /** Fails the pending statement. */
  let fail: ((cause: unknown) => void) | undefined
  let deadline: NodeJS.Timeout | undefined

  const abort = (cause: Error): void => {
    usable = false
    client.connection.stream.destroy()
    fail?.(cause)
  }

  /** Reads nothing more until there is room for what has come. */
  const waitForRoom = (waiting: Holding, bytes: number): void => {
    const { stream } = client.connection
    stream.pause()
    waiting.take(bytes, (refused) => {
      if (waiting !== holding) return
      if (refused === undefined) stream.resume()
      else abort(new NoRowMemory())
    })
  }

  const giveUp = (cause: unknown): void => {
    onDefect(cause)
    abort(new Error("the answer could not be read"))
  }

  client.on("error", (cause) => {
    usable = false
    fail?.(cause)
  })
  client.on("end", () => {
    usable = false
  })
  await connectGuarded(client, {
    onData: (bytes) => {
      received += bytes
      if (received > wireBytes) abort(new TooLarge())
      else if (holding?.tryTake(bytes) === false) waitForRoom(holding, bytes)
      return received <= wireBytes
    },
    onDefect: giveUp
  })

  const exclusively = <A>(body: () => Promise<A>): Promise<A> =>
    new Promise<A>((resolve, reject) => {
      if (!usable) return reject(new Error("the connection has ended"))
      received = 0
      fail = reject
      deadline = setTimeout(() => abort(new Error("no answer in time")), answerMillis)
      body().then(resolve, reject)
    }).finally(() => {
      clearTimeout(deadline)
      fail = undefined
      holding = undefined
    })

  return {
    pid: processOf(client),
    isUsable: () => usable,
    query: (sql, params, ofAnswer) =>
      exclusively(async () => {
        holding = ofAnswer
        const values = areScalars(params) ? params : encodeParameters(params, await parameterTypesOf(client, sql))
        return submit(client, sql, values, abort, giveUp)
      }),
    control: (sql) =>
      exclusively(async () => {
        await client.query(sql)
      }),
    abort,
    end: () => {
      usable = false
      return endClient(client)
    }
  }
}

// --- Private ---

/** Rows with the protocol's overhead: 7 bytes for each row, and up to 140 KB for the description of columns. */
const wireBytes = workspaceDb.resultBytes + 512 * 1024

/** A responsive server ends the statement before, at its own timeout. */
const answerMillis = workspaceDb.statementMillis + 10_000

/** After this time the socket is closed without waiting for the server. */
const goodbyeMillis = 2_000

/** The server sends it as the session begins; pg keeps it to cancel statements. */
const processOf = (client: Client): number =>
  "processID" in client && typeof client.processID === "number" ? client.processID : 0

interface SocketListeners {
  /** Whether the parser may have the bytes. */
  readonly onData: (bytes: number) => boolean
  readonly onDefect: (cause: unknown) => void
}

/** Connects, and guards the listeners of the socket from then on. */
const connectGuarded = async (client: Client, listeners: SocketListeners): Promise<void> => {
  try {
    await client.connect()
    guard(client, listeners)
  } catch (cause) {
    await client.end().catch(() => undefined)
    throw cause
  }
}

/** Ends the session; closes the socket if the server does not answer. */
const endClient = async (client: Client): Promise<void> => {
  const deadline = setTimeout(() => client.connection.stream.destroy(), goodbyeMillis)
  await client.end().catch(() => undefined)
  clearTimeout(deadline)
}

/** Guards the listeners of the socket, in which pg handles responses. */
const guard = ({ connection: { stream } }: Client, { onData, onDefect }: SocketListeners): void => {
  const emit = stream.emit.bind(stream)
  Object.defineProperty(stream, "emit", {
    value: (event: string | symbol, ...args: ReadonlyArray<unknown>): boolean => {
      try {
        const [data] = args
        if (event === "data" && data instanceof Uint8Array && !onData(data.byteLength)) return true
        return emit(event, ...args)
      } catch (cause) {
        onDefect(cause)
        return true
      }
    }
  })
}

/** Keeps values as text: they are parsed after all have arrived, where an exception is handled. */
const asText = { getTypeParser: () => (text: string) => text }

const submit = (
  client: Client,
  sql: string,
  params: ReadonlyArray<Scalar>,
  abort: (cause: Error) => void,
  onDefect: (cause: unknown) => void
): Promise<RawResult> =>
  new Promise((resolve, reject) => {
    const rows: Array<ReadonlyArray<string | null>> = []
    const config: QueryConfig & { readonly queryMode: "extended"; readonly rowMode: "array" } = {
      text: sql,
      values: [...params],
      queryMode: "extended",
      rowMode: "array",
      types: asText
    }
    const query = new Query<ReadonlyArray<string | null>>(config)
    const handleError: unknown = Reflect.get(query, "handleError")
    if (typeof handleError === "function") {
      // pg calls it in a tick of its own when the connection ends, outside the guarded listeners.
      const guarded = (...args: ReadonlyArray<unknown>): void => {
        try {
          Reflect.apply(handleError, query, args)
        } catch (cause) {
          onDefect(cause)
        }
      }
      Object.defineProperty(query, "handleError", { value: guarded })
    }
    query.on("row", (row) => {
      if (rows.push(row) > workspaceDb.rows) abort(new TooLarge())
    })
    query.on("error", reject)
    query.on("end", ({ command, fields, rowCount }) =>
      resolve({
        rows,
        command,
        rowCount: rowCount ?? rows.length,
        fields: fields.map(({ dataTypeID, name }) => ({ name, type: dataTypeID }))
      })
    )
    client.query(query)
  })
