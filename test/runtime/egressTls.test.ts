import type { AddressInfo } from "node:net"
import { createServer } from "node:https"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import { layer } from "../../src/runtime/egress/Egress.js"
import { parseAllowList } from "../../src/runtime/egress/Address.js"
import { send, textOf } from "./egressServer.js"

/** A self-signed certificate of tls.example for this test, valid until 2126. */
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgLb1BoAM+lxPnYoqa
Ihb7BvQutsNn0G8Hza8KjuDUiDChRANCAARJD/8MyL+ZyVxutI2IFzY9KSxfuZGi
kfXPx+/J+9hxFp7blMwB7SWX46aveYwCyA6EtBXx7XKciKRE0C50Nv0k
-----END PRIVATE KEY-----
`
const cert = `-----BEGIN CERTIFICATE-----
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

/** A server that answers with the server name of the client's TLS handshake. */
const tlsServer = Effect.acquireRelease(
  Effect.async<{ readonly port: number; readonly close: () => void }>((resume) => {
    const server = createServer({ key, cert }, (request, response) =>
      response.end(String(Reflect.get(request.socket, "servername")))
    )
    server.on("tlsClientError", () => undefined)
    server.listen(0, "127.0.0.1", () => {
      const close = () => {
        server.closeAllConnections()
        server.close()
      }
      resume(Effect.succeed({ port: (server.address() as AddressInfo).port, close }))
    })
  }),
  (server) => Effect.sync(server.close)
)

const egress = (ca: ReadonlyArray<string>) =>
  layer({ allow: Either.getOrThrow(parseAllowList("127.0.0.1")), resolve: () => Promise.resolve(["127.0.0.1"]), ca })

describe("TLS", () => {
  it.scoped("sends and verifies the host name of the URL, though it connects to a checked address", () =>
    Effect.gen(function* () {
      const server = yield* tlsServer
      const right = yield* send(`https://tls.example:${server.port}/`).pipe(Effect.provide(egress([cert])))
      assert.strictEqual(textOf(right), "tls.example")
      const other = yield* Effect.flip(
        send(`https://other.example:${server.port}/`).pipe(Effect.provide(egress([cert])))
      )
      const unknown = yield* Effect.flip(send(`https://tls.example:${server.port}/`).pipe(Effect.provide(egress([]))))
      const literal = yield* Effect.flip(send(`https://127.0.0.1:${server.port}/`).pipe(Effect.provide(egress([cert]))))
      for (const failure of [other, unknown, literal]) assert.strictEqual(failure._tag, "EgressUnreachable")
    })
  )
})
