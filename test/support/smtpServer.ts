/** A small SMTP server with logins, STARTTLS and TLS. A test scripts which commands it refuses. */
import { type AddressInfo, createServer, type Socket } from "node:net"
import { createSecureContext, TLSSocket } from "node:tls"

/** A self-signed certificate of tls.example for tests, valid until 2126. */
export const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgLb1BoAM+lxPnYoqa
Ihb7BvQutsNn0G8Hza8KjuDUiDChRANCAARJD/8MyL+ZyVxutI2IFzY9KSxfuZGi
kfXPx+/J+9hxFp7blMwB7SWX46aveYwCyA6EtBXx7XKciKRE0C50Nv0k
-----END PRIVATE KEY-----
`
export const cert = `-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIUShJS0U4k37I24ZXPsTIv9fKcSvQwCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIc3ZjIHRlc3QwIBcNMjYxMTIxMTAxNjA1WhgPMjEyNjEwMjgx
MDE2MDVaMBMxETAPBgNVBAMMCHN2YyB0ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAESQ//DMi/mclcbrSNiBc2PSksX7mRopH1z8fvyfvYcRae25TMAe0ll+Om
r3mMAsgOhLQV8e1ynIikRNAudDb9JKNrMGkwHQYDVR0OBBYEFEn/i+w+6mn5rmb+
GYLdKz7dhODYMB8GA1UdIwQYMBaAFEn/i+w+6mn5rmb+GYLdKz7dhODYMA8GA1Ud
EwEB/wQFMAMBAf8wFgYDVR0RBA8wDYILdGxzLmV4YW1wbGUwCgYIKoZIzj0EAwID
SAAwRQIhAOB4PqGt4LhXR7Oae8TKZhAIC1JmA0UU6uDuiEFpgL7gAiBfwFRwZH2V
D0iqVBqKMOUbMBY8vbvDegWyVpRvuM7gog==
-----END CERTIFICATE-----
`

export interface SmtpScript {
  /**
   * Replies by command (`CONNECT`, `EHLO`, `STARTTLS`, `AUTH`, `MAIL`, `RCPT`, `DATA`, `MESSAGE`); null: the server
   * does not reply.
   */
  readonly [command: string]: string | null | ((line: string) => string | null | undefined)
}

export interface SmtpServer {
  readonly port: number
  readonly connections: () => number
  /** The number of open connections. */
  readonly open: () => number
  /** Every command, and whether it was received over TLS. */
  readonly commands: ReadonlyArray<{ readonly line: string; readonly secure: boolean }>
  readonly messages: ReadonlyArray<string>
  /** Replies that replace the normal ones; a test may change them between sessions. */
  script: SmtpScript
  readonly close: () => Promise<void>
}

/**
 * `login`: the only login that the server accepts. `tls`: TLS from the first byte; otherwise the server offers
 * STARTTLS.
 */
export const startSmtpServer = async (login: readonly [user: string, password: string], tls = false) => {
  const sockets = new Set<Socket>()
  const commands: Array<{ readonly line: string; readonly secure: boolean }> = []
  const messages: Array<string> = []
  let connections = 0
  const context = createSecureContext({ key, cert })
  const secured = (socket: Socket) => new TLSSocket(socket, { isServer: true, secureContext: context })

  const usual = (command: string, line: string, secure: boolean): string => {
    switch (command) {
      case "CONNECT":
        return "220 smtp.example ready"
      case "EHLO":
        return secure ? "250-smtp.example\r\n250-AUTH PLAIN\r\n250 SIZE 1000000" : "250-smtp.example\r\n250 STARTTLS"
      case "AUTH": {
        const [, user, password] = Buffer.from(line.split(" ")[2] ?? "", "base64")
          .toString()
          .split("\0")
        return user === login[0] && password === login[1] ? "235 welcome" : "535 5.7.8 not you"
      }
      case "STARTTLS":
        return "220 go ahead"
      case "DATA":
        return "354 go on"
      case "MESSAGE":
        return "250 2.0.0 Ok: queued as 4711"
      case "QUIT":
        return "221 bye"
      default:
        return "250 ok"
    }
  }

  const talk = (socket: Socket, secure: boolean, greets: boolean) => {
    let held = ""
    let reading = false
    socket.on("error", () => undefined)
    const say = (command: string, line: string): string | null => {
      const scripted = server.script[command]
      const said = typeof scripted === "function" ? scripted(line) : scripted
      const reply = said === undefined ? usual(command, line, secure) : said
      if (reply !== null) socket.write(`${reply}\r\n`)
      return reply
    }
    const onData = (chunk: Buffer) => {
      held += chunk.toString("latin1")
      for (;;) {
        const end = held.indexOf(reading ? "\r\n.\r\n" : "\r\n")
        if (end < 0) return
        const line = held.slice(0, end)
        held = held.slice(end + (reading ? 5 : 2))
        if (reading) {
          reading = false
          messages.push(line)
          say("MESSAGE", "")
          continue
        }
        commands.push({ line, secure })
        const command = line.split(" ")[0]?.toUpperCase() ?? ""
        const reply = say(command, line)
        if (command === "STARTTLS" && reply?.startsWith("2") === true) {
          socket.removeListener("data", onData)
          return talk(secured(socket), true, false)
        }
        reading = command === "DATA" && reply?.startsWith("354") === true
        if (command === "QUIT") socket.end()
      }
    }
    socket.on("data", onData)
    if (greets) say("CONNECT", "")
  }

  const listener = createServer((socket) => {
    connections++
    sockets.add(socket)
    socket.on("error", () => undefined)
    socket.on("close", () => sockets.delete(socket))
    talk(tls ? secured(socket) : socket, tls, true)
  })
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve))
  const server: SmtpServer = {
    port: (listener.address() as AddressInfo).port,
    connections: () => connections,
    open: () => sockets.size,
    commands,
    messages,
    script: {},
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      })
  }
  return server
}
