/**
 * One connection of the typed RPC: checks its messages before the library reads them, counts what is open on it, and
 * bounds what its client sends and does not read.
 */
import type { FromClientEncoded, FromServerEncoded } from "@effect/rpc/RpcMessage"
import type { WebSocket } from "ws"
import type { Holding } from "../../../actors/ports/HeldBytes.js"
import { closestName } from "../../../domain/ClosestName.js"
import {
  type Failure,
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  TooManyCalls,
  Unavailable,
  ValidationFailed
} from "../../../domain/Failure.js"
import { unstorableMessage } from "../../../domain/Json.js"
import { findProblem, tooHeavyMessage } from "../../../domain/JsonText.js"
import { rpcLimits } from "../../../domain/rpc/RpcLimits.js"
import { isLasting, isStream, proxyMethod, type RpcMethod, rpcMethods } from "../../../http/rpc/RpcMethods.js"
import type { RpcAnswer } from "../../../http/rpc/RpcReplies.js"
import type { RequestHead } from "../../../http/Wire.js"

/** Why a connection is closed, beside the codes of RFC 6455. */
export const closeCodes = {
  goElsewhere: [1012, "the node is being stopped or restarted: connect again"],
  tooSlow: [1013, "what was sent is not read"],
  noMessage: [1008, "no message came in time"],
  noText: [1003, "send text"],
  noJson: [1007, "send one JSON message in a frame"],
  noProtocol: [1008, "the message is none of the protocol"],
  tooMuchHeld: [1013, "too many requests are held at once: connect again later"],
  clientEnded: [1000, "the client has ended"],
  notAdmitted: [4401, "the key may connect no more"]
} as const satisfies { readonly [reason: string]: readonly [code: number, words: string] }

/** What is open on a connection. `bytes`: of the frame that asked for it. */
interface OpenCall {
  readonly bytes: number
  readonly isLasting: boolean
  /** Ends the call, or lets it go on unanswered; a stream is ended by the library. */
  stop?: () => void
  isInterrupted?: boolean
}

export interface RpcConnectionOptions {
  readonly id: number
  readonly head: RequestHead
  /** Of the bytes that its client has sent and that are not yet answered. */
  readonly holding: Holding
  /** Passes a message of a stream on to the library. */
  readonly pass: (message: FromClientEncoded) => void
  /** Runs a call; returns what stops it. `done`: with its answer, or without when it has ended after it was stopped. */
  readonly run: (method: RpcMethod, payload: unknown, done: (answer?: RpcAnswer) => void) => () => void
  /** A failure as clients get it. */
  readonly failureOf: (failure: Failure) => unknown
}

/** Of a client's ping or pong, with the mask. */
const controlHead = 6

const requestStart = /^\{"_tag":"Request","id":"(\d{1,18})"/
const idPattern = /^\d{1,18}$/
const stopping = () => new Unavailable({ reason: "svc is being stopped or restarted", retryAfterSeconds: 1 })

const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined

export class RpcConnection {
  readonly id: number
  readonly head: RequestHead
  /** Whether it has answered the last ping. */
  isAlive = true
  private readonly open = new Map<string, OpenCall>()
  private lasting = 0
  /** Bytes of a frame of which the rest has not come. */
  private arriving = 0
  private hasSpoken = false
  private isLeaving = false

  constructor(
    private readonly socket: WebSocket,
    private readonly options: RpcConnectionOptions
  ) {
    this.id = options.id
    this.head = options.head
  }

  /** Calls that are open and will be answered soon. */
  get calls(): number {
    return this.open.size - this.lasting
  }

  get hasBeenUsed(): boolean {
    return this.hasSpoken
  }

  close([code, words]: readonly [number, string]): void {
    this.socket.close(code, words)
  }

  /** Closes without waiting for the client, which could go on sending, or never read that it is closed. */
  private cutOff(reason: readonly [number, string]): void {
    this.close(reason)
    this.socket.terminate()
  }

  /** Asks for a sign of life; ends a connection that gave none since the last time. */
  ping(): void {
    if (!this.isAlive) return this.socket.terminate()
    this.isAlive = false
    this.socket.ping()
  }

  /** Refuses further calls, and closes once those that are open are answered. */
  leave(): void {
    this.isLeaving = true
    if (this.calls === 0) this.close(closeCodes.goElsewhere)
  }

  /** For each chunk of bytes, before it is read. */
  receive(bytes: number): void {
    if (this.options.holding.tryTake(bytes)) this.arriving += bytes
    else this.cutOff(closeCodes.tooMuchHeld)
  }

  /** For each ping, which has been answered, and each pong. */
  readControl(data: Buffer): void {
    this.isAlive = true
    const bytes = Math.min(this.arriving, controlHead + data.byteLength)
    this.arriving -= bytes
    this.options.holding.give(bytes)
    if (this.socket.bufferedAmount > rpcLimits.unsentBytes) this.cutOff(closeCodes.tooSlow)
  }

  /** For each frame. */
  readFrame(data: Buffer, isBinary: boolean): void {
    this.hasSpoken = true
    this.isAlive = true
    const { holding } = this.options
    holding.give(this.arriving)
    this.arriving = 0
    if (this.socket.readyState !== this.socket.OPEN) return
    if (isBinary) return this.close(closeCodes.noText)
    const text = data.toString()
    const problem = findProblem(text)
    if (problem === "tooHeavy" || problem === "tooDeep") return this.refuseUnread(text, problem)
    let message: unknown
    try {
      message = JSON.parse(text)
    } catch {
      return this.close(closeCodes.noJson)
    }
    this.read(message, data.byteLength)
  }

  /** Sends a message of the library; its own words about defects stay here. */
  send(message: FromServerEncoded): void {
    switch (message._tag) {
      case "Exit":
        return this.answer(message.requestId, JSON.stringify(message))
      case "Chunk":
        return this.write(message)
      case "Pong":
        return this.write(message)
      default:
        return this.close(closeCodes.noProtocol)
    }
  }

  /** Gives back what it holds. */
  end(): void {
    for (const { stop } of this.open.values()) stop?.()
    this.open.clear()
    this.options.holding.release()
  }

  private read(message: unknown, bytes: number): void {
    const tag = member(message, "_tag")
    const requestId = member(message, "requestId")
    if (tag === "Ping") return this.options.pass({ _tag: tag })
    // The library would answer nothing that is asked after it.
    if (tag === "Eof") return this.close(closeCodes.clientEnded)
    if (tag === "Ack" || tag === "Interrupt")
      return typeof requestId === "string" ? this.readFor(requestId, tag) : undefined
    const id = member(message, "id")
    if (tag !== "Request" || typeof id !== "string" || !idPattern.test(id) || this.open.has(id))
      return this.close(closeCodes.noProtocol)
    this.ask(id, member(message, "tag"), member(message, "payload"), bytes)
  }

  /** Reads a message about a call; one that is not open may have been answered meanwhile. */
  private readFor(requestId: string, tag: "Ack" | "Interrupt"): void {
    const call = this.open.get(requestId)
    if (call === undefined) return
    if (call.stop === undefined) return this.options.pass({ _tag: tag, requestId })
    if (tag === "Ack" || call.isInterrupted === true) return
    // It counts until it has ended.
    call.isInterrupted = true
    this.writeText(interruptedText(requestId))
    call.stop()
  }

  private ask(id: string, name: unknown, payload: unknown, bytes: number): void {
    const method = typeof name === "string" ? rpcMethods.get(name) : undefined
    if (method === undefined || typeof name !== "string") return this.refuse(id, unknownMethod(name))
    if (this.isLeaving) return this.refuse(id, stopping())
    if (bytes > rpcLimits.frame && name !== proxyMethod)
      return this.refuse(id, new PayloadTooLarge({ limitBytes: rpcLimits.frame }))
    const call: OpenCall = { bytes, isLasting: isLasting(method) }
    const [count, limit, what] = call.isLasting
      ? ([this.lasting, rpcLimits.streams, "streams and awaits"] as const)
      : ([this.calls, rpcLimits.calls, "calls"] as const)
    if (count >= limit) return this.refuse(id, new TooManyCalls({ what, of: "caller", limit }))
    if (!this.options.holding.tryTake(bytes)) return this.refuse(id, noRoom())
    this.open.set(id, call)
    if (call.isLasting) this.lasting++
    if (isStream(method)) return this.options.pass({ _tag: "Request", id, tag: name, payload, headers: [] })
    call.stop = this.options.run(method, payload, (answer) =>
      answer === undefined ? this.forget(id) : this.answer(id, exitText(id, answer))
    )
  }

  /** Answers a request that is too costly to be read, if it begins as clients write it. */
  private refuseUnread(text: string, problem: "tooHeavy" | "tooDeep"): void {
    const id = requestStart.exec(text)?.[1]
    if (id === undefined || this.open.has(id)) return this.close(closeCodes.noJson)
    const message = problem === "tooHeavy" ? tooHeavyMessage : unstorableMessage[problem]
    this.refuse(
      id,
      new ValidationFailed({
        code: "VALIDATION_FAILED",
        message: `the payload ${message}`,
        details: [{ path: "", code: "NOT_STORABLE", message }]
      })
    )
  }

  /** Answers a call with a failure. */
  private refuse(id: string, failure: Failure): void {
    this.write({ _tag: "Exit", requestId: id, exit: failedWith(this.options.failureOf(failure)) })
  }

  private answer(id: string, text: string): void {
    if (text.length > rpcLimits.sentFrame) this.refuse(id, new PayloadTooLarge({ limitBytes: rpcLimits.sentFrame }))
    else this.writeText(text)
    this.forget(id)
  }

  /** Counts a call no more. */
  private forget(id: string): void {
    const call = this.open.get(id)
    if (call !== undefined) {
      this.open.delete(id)
      if (call.isLasting) this.lasting--
      this.options.holding.give(call.bytes)
    }
    if (this.isLeaving && this.calls === 0) this.close(closeCodes.goElsewhere)
  }

  private write(message: FromServerEncoded): void {
    this.writeText(JSON.stringify(message))
  }

  /** What its client does not read is kept up to the limit; one answer may exceed it. */
  private writeText(text: string): void {
    if (this.socket.readyState !== this.socket.OPEN) return
    if (this.socket.bufferedAmount > rpcLimits.unsentBytes) {
      return this.cutOff(closeCodes.tooSlow)
    }
    this.socket.send(text)
  }
}

const failedWith = (error: unknown) => ({ _tag: "Failure", cause: { _tag: "Fail", error } }) as const

/** An answer's text in the frame that the library would write. */
const exitText = (id: string, { isFailure, text }: RpcAnswer): string =>
  isFailure
    ? `{"_tag":"Exit","requestId":"${id}","exit":{"_tag":"Failure","cause":{"_tag":"Fail","error":${text}}}}`
    : `{"_tag":"Exit","requestId":"${id}","exit":{"_tag":"Success","value":${text}}}`

const interruptedText = (id: string): string =>
  JSON.stringify({
    _tag: "Exit",
    requestId: id,
    exit: { _tag: "Failure", cause: { _tag: "Interrupt", fiberId: { _tag: "None" } } }
  })

const noRoom = () => new Unavailable({ reason: "too many requests are held at once", retryAfterSeconds: 1 })

const unknownMethod = (name: unknown): Failure =>
  typeof name === "string"
    ? new NotFound({ what: "method", meant: closestName(name.slice(0, 100), [...rpcMethods.keys()]) })
    : new InvalidRequest({ code: "INVALID_REQUEST", message: "tag must be the name of a method" })
