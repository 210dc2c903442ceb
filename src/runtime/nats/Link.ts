/**
 * The connection to a NATS server with JetStream, its stream and its consumers. Messages name events of the start queue
 * and carry nothing else. The only module that uses the NATS client.
 */
import {
  AckPolicy,
  connect,
  type ConnectionOptions,
  type ConsumerMessages,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamManager,
  type JsMsg,
  type NatsConnection,
  NatsError,
  nanos,
  ReplayPolicy,
  RetentionPolicy,
  StorageType
} from "nats"
import type { LeasedEvent } from "../../actors/ports/run/StartQueue.js"
import { isObject } from "../../domain/Json.js"
import { OperatorError } from "../process/OperatorError.js"

/** What a message says of an event. */
export type Notice = Pick<LeasedEvent, "id" | "priority" | "claims">

/** An event that a node has received, as it tells the others. */
export type ReceivedNotice = Pick<Notice, "id" | "claims">

export interface CarriedMessage {
  readonly notice: Notice
  /** The broker forgets the message. */
  readonly ack: () => void
  /** The message is not delivered again while this is called every few seconds. */
  readonly keep: () => void
}

export interface Link {
  readonly isConnected: () => boolean
  /**
   * Makes the stream and the consumers, or repairs them, and begins to receive. `remake`: consumers of these classes are
   * made anew. Rejects with an `OperatorError` if this server cannot serve.
   */
  readonly prepare: (remake: ReadonlySet<number>) => Promise<void>
  /** Repairs the stream and the consumers, if something is missing or different. Returns whether something was. */
  readonly repair: () => Promise<boolean>
  /** Resolves when the server has stored the message. */
  readonly publish: (notice: Notice) => Promise<void>
  /** Tells all nodes that these events have arrived here. May be lost. */
  readonly tellArrived: (notices: ReadonlyArray<ReceivedNotice>) => void
  readonly close: () => Promise<void>
}

export interface LinkOptions {
  /** `nats://` or `tls://`, with a user and a password, or a token as the user. */
  readonly url: string
  /** Keeps the streams of several installations on one server apart: letters, digits, `-`. */
  readonly installation: string
  readonly onDelivery: (delivery: CarriedMessage) => void
  /** Events that any node has received. */
  readonly onArrivals: (arrivals: ReadonlyArray<ReceivedNotice>) => void
}

const classes = [1, 2, 3, 4] as const
const requestMillis = 2_000
/** An unacknowledged message is delivered again after this time. */
const ackWaitMillis = 5_000
const oldestServer = [2, 9] as const

const streamName = ({ installation }: LinkOptions) => `svc-events-${installation}`
const subjectOf = ({ installation }: LinkOptions, priority: number | "*") => `svc.events.${installation}.${priority}`
/** Not a subject of the stream. */
const arrivalsOf = ({ installation }: LinkOptions) => `svc.arrived.${installation}`
const consumerName = (priority: number) => `p${priority}`

/** A message is useless after its lease; the age limit is for those that no consumer takes. */
const streamConfig = (options: LinkOptions) => ({
  name: streamName(options),
  description: "Events of svc that wait for dispatch; svc makes this stream again if it is missing",
  subjects: [subjectOf(options, "*")],
  retention: RetentionPolicy.Workqueue,
  storage: StorageType.File,
  discard: DiscardPolicy.New,
  max_age: nanos(300_000),
  duplicate_window: nanos(120_000),
  max_msgs: 100_000,
  max_msg_size: 1_024,
  num_replicas: 1
})

const consumerConfig = (options: LinkOptions, priority: number) => ({
  durable_name: consumerName(priority),
  filter_subject: subjectOf(options, priority),
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(ackWaitMillis),
  deliver_policy: DeliverPolicy.All,
  replay_policy: ReplayPolicy.Instant,
  max_ack_pending: 20_000
})

/** The members of `wanted` that the server shows with other values: servers silently drop options they do not know. */
const differences = (wanted: object, found: object): ReadonlyArray<string> =>
  Object.entries(wanted).flatMap(([name, value]) =>
    JSON.stringify(value) === JSON.stringify(Reflect.get(found, name)) ? [] : [name]
  )

const isMissing = (error: unknown) => error instanceof NatsError && error.api_error?.code === 404

const orMissing = async <A>(request: Promise<A>): Promise<A | undefined> => {
  try {
    return await request
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

const connectionOptions = (url: string): ConnectionOptions => {
  const { hostname, password, port, protocol, username } = new URL(url)
  const user = decodeURIComponent(username)
  return {
    servers: `${hostname}:${port === "" ? "4222" : port}`,
    name: "svc",
    timeout: requestMillis,
    reconnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    pingInterval: 2_000,
    maxPingOut: 2,
    ...(protocol === "tls:" ? { tls: {} } : {}),
    ...(user === "" ? {} : password === "" ? { token: user } : { user, pass: decodeURIComponent(password) })
  }
}

/** Why this server cannot carry events, as sentences for the operator. */
const refusalOf = ({ info }: NatsConnection): string | undefined => {
  const version = info?.version ?? "0"
  const [major = 0, minor = 0] = version.split(".").map(Number)
  if (major < oldestServer[0] || (major === oldestServer[0] && minor < oldestServer[1]))
    return `The NATS server of SVC_NATS_URL has version ${version}. svc needs ${oldestServer.join(".")} or later.`
  if (info?.jetstream !== true)
    return "The NATS server of SVC_NATS_URL runs without JetStream. Start it with `-js`, or set `jetstream` in its configuration."
  return undefined
}

const readNotice = (message: JsMsg): Notice | undefined => {
  const value: unknown = JSON.parse(new TextDecoder().decode(message.data))
  if (!isObject(value)) return undefined
  const { claims, id, priority } = value
  if (typeof id !== "string" || typeof claims !== "number") return undefined
  const found = classes.find((one) => one === priority)
  // Only this module publishes on these subjects, and it publishes ids of events.
  return found === undefined ? undefined : { id: id as Notice["id"], priority: found, claims }
}

const readArrivals = (data: Uint8Array): ReadonlyArray<ReceivedNotice> => {
  const value: unknown = JSON.parse(new TextDecoder().decode(data))
  // Only this module publishes on this subject: ids of events.
  return !Array.isArray(value)
    ? []
    : value.flatMap((one: unknown) =>
        isObject(one) && typeof one["id"] === "string" && typeof one["claims"] === "number"
          ? [{ id: one["id"] as ReceivedNotice["id"], claims: one["claims"] }]
          : []
      )
}

/** Connects; rejects when the server cannot be reached, or cannot serve (`OperatorError`). */
export const openLink = async (options: LinkOptions): Promise<Link> => {
  const connection = await connect(connectionOptions(options.url)).catch((error: unknown) => {
    if (error instanceof NatsError && error.isAuthError())
      throw new OperatorError({
        message: "The NATS server of SVC_NATS_URL refuses the login. Write the user and the password into the URL."
      })
    throw error
  })
  const refusal = refusalOf(connection)
  if (refusal !== undefined) {
    await connection.close()
    throw new OperatorError({ message: refusal })
  }
  connection.subscribe(arrivalsOf(options), {
    callback: (error, { data }) => {
      if (error === null) options.onArrivals(readArrivals(data))
    }
  })
  const stream = streamConfig(options)
  const client = connection.jetstream({ timeout: requestMillis })
  let isConnected = true
  let subscriptions: ReadonlyArray<ConsumerMessages> = []
  void (async () => {
    for await (const status of connection.status()) {
      if (status.type === "disconnect") isConnected = false
      if (status.type === "reconnect") isConnected = true
    }
  })()

  const refuseDifferences = (what: string, wanted: object, found: object) => {
    const names = differences(wanted, found)
    if (names.length > 0)
      throw new OperatorError({
        message: `The NATS server of SVC_NATS_URL does not keep ${names.join(", ")} of the ${what}. svc needs a server that does.`
      })
  }

  const repairStream = async ({ streams }: JetStreamManager): Promise<boolean> => {
    const found = await orMissing(streams.info(stream.name))
    if (found !== undefined && differences(stream, found.config).length === 0) return false
    // Every message can be published again, so a stream that differs is not worth a migration.
    if (found !== undefined) await streams.delete(stream.name)
    const { config } = await streams.add(stream)
    refuseDifferences("stream", stream, config)
    return true
  }

  const repairConsumer = async ({ consumers }: JetStreamManager, priority: number, remake: boolean) => {
    const wanted = consumerConfig(options, priority)
    const found = await orMissing(consumers.info(stream.name, wanted.durable_name))
    if (found !== undefined && !remake && differences(wanted, found.config).length === 0) return false
    if (found !== undefined) await consumers.delete(stream.name, wanted.durable_name)
    const { config } = await consumers.add(stream.name, wanted)
    refuseDifferences("consumers", wanted, config)
    return true
  }

  const repairAll = async (remake: ReadonlySet<number>): Promise<boolean> => {
    const manager = await connection.jetstreamManager({ timeout: requestMillis })
    let repaired = await repairStream(manager)
    for (const priority of classes)
      repaired = (await repairConsumer(manager, priority, remake.has(priority))) || repaired
    return repaired
  }

  const receive = (message: JsMsg) => {
    const notice = readNotice(message)
    if (notice === undefined) message.term()
    else options.onDelivery({ notice, ack: () => message.ack(), keep: () => message.working() })
  }

  const subscribe = async () => {
    const before = subscriptions
    subscriptions = []
    await Promise.all(before.map((subscription) => subscription.close()))
    subscriptions = await Promise.all(
      classes.map(async (priority) => {
        const consumer = await client.consumers.get(stream.name, consumerName(priority))
        return consumer.consume({
          callback: receive,
          max_messages: 64,
          expires: 30_000,
          idle_heartbeat: 1_000,
          bind: true
        })
      })
    )
  }

  return {
    isConnected: () => isConnected && !connection.isClosed(),
    prepare: async (remake) => {
      const refusal = refusalOf(connection)
      if (refusal !== undefined) throw new OperatorError({ message: refusal })
      await repairAll(remake)
      await subscribe()
    },
    repair: async () => {
      const repaired = await repairAll(new Set())
      if (repaired) await subscribe()
      return repaired
    },
    publish: async (notice) => {
      const payload = new TextEncoder().encode(JSON.stringify(notice))
      // The claim's number lets a repetition pass the server's duplicate window.
      const msgID = `${notice.id}.${notice.claims}`
      await client.publish(subjectOf(options, notice.priority), payload, { msgID, timeout: requestMillis })
    },
    tellArrived: (notices) => {
      const arrivals = notices.map(({ claims, id }) => ({ id, claims }))
      connection.publish(arrivalsOf(options), new TextEncoder().encode(JSON.stringify(arrivals)))
    },
    close: async () => {
      await connection.close()
    }
  }
}
