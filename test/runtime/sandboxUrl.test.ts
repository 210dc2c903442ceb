import { assert, describe } from "@effect/vitest"
import { runInThisContext } from "node:vm"
import { Effect } from "effect"
import type { Json } from "../../src/domain/Json.js"
import { layer as sandboxLayer } from "../../src/runtime/sandbox/Pool.js"
import { result } from "../support/guests.js"
import { bundleRunner } from "../support/sandboxRunner.js"
import { parseUrl } from "../../src/domain/Url.js"
import { layer } from "../support/layer.js"

const runner = bundleRunner()

layer(sandboxLayer({ runnerPath: runner, runners: 1, spare: false }), { excludeTestServices: true })(
  "addresses",
  (it) => {
    describe("URL", () => {
      const urls: ReadonlyArray<readonly [string, string?]> = [
        ["https://user:p%40ss@EXAMPLE.com:443/a/./b/../c%20d/?q=a b&r='x'#frag ment"],
        ["http://example.com:8080"],
        ["//other.host/x", "https://base.com/y"],
        ["../up?x=1", "https://base.com/a/b/c?z#w"],
        ["?only", "https://base.com/a?b"],
        ["#only", "https://base.com/a?b"],
        ["", "https://base.com/a?b#c"],
        ["/abs/../x", "https://base.com/a/b"],
        ["http:rel", "http://base.com/a/b"],
        ["http:rel", "https://base.com/a/b"],
        ["mailto:me@example.com?subject=Hi there"],
        ["data:text/plain,hello world#x y"],
        ["file:///C:/a/../b"],
        ["file://localhost/etc"],
        ["blob:https://a.b/c"],
        ["http://0x7f.1/"],
        ["http://2130706433/"],
        ["http://192.168.257"],
        ["http://256.1.1.1/"],
        ["http://[::1]:80/"],
        ["http://[2001:db8:0:0:1:0:0:1]/"],
        ["http://[::ffff:1.2.3.4]/"],
        ["http://[1:2:3]/"],
        ["https://münchen.de/straße?ü#ß"],
        ["https://日本語.jp"],
        ["http://a b/"],
        ["http://exa%6Dple.com/%zz"],
        ["foo://host/path/../x?y#z"],
        ["foo:/a/b"],
        ["foo:opaque ?q"],
        ["not a url"],
        ["http://"],
        ["https://a.b:99999/"],
        ["https://a.b:/"],
        ["\thttps://a.b/\n x "],
        ["http:\\\\a.b\\c\\d"],
        ["x", "mailto:a@b"],
        ["https://a@b@c.d/"],
        ["https://a.b/..;/%2e%2E/c"],
        ['https://a.b/`{}|^"<>?`{}\'"<>#`{}"<>'],
        ["HTTPS://A.B/?a=%F0%9F%98%80😀"],
        ["ws://a.b:80/x"],
        ["https://a.b/a//b///c/.."]
      ]
      const parts = [
        "href",
        "origin",
        "protocol",
        "username",
        "password",
        "host",
        "hostname",
        "port",
        "pathname",
        "search",
        "hash"
      ] as const
      const look = (url: URL): Json => parts.map((part) => url[part])
      it.effect("parses addresses as Node does", () =>
        Effect.gen(function* () {
          const seen = yield* result(
            `const parts = ctx.parts
           return ctx.urls.map(([url, base]) => { try { const u = new URL(url, base ?? undefined); return parts.map((p) => u[p]) } catch (e) { return e.code } })`,
            { urls: urls.map(([url, base]) => [url, base ?? null]), parts: [...parts] }
          )
          assert(Array.isArray(seen))
          urls.forEach(([url, base], i) => {
            const expected = parseUrl(url, base) === undefined ? "ERR_INVALID_URL" : look(new URL(url, base))
            assert.deepStrictEqual(seen[i], expected, `${url} on ${base}`)
          })
        })
      )
      it.effect("a request has the same address as URL, also if it is simple enough not to be parsed", () =>
        Effect.gen(function* () {
          const hosts = [
            "a.b",
            "A.b",
            "127.0.0.1",
            "127.0.0.01",
            "127.1",
            "1.2.3.4.com",
            "256.1.1.1",
            "1.2.3.4.5",
            "a.1",
            "x.0x7f",
            "xn--mnchen-3ya.de",
            "münchen.de",
            "a_b.c",
            "a..b",
            "a.b.",
            "-a.b",
            "u@a.b",
            "[::1]"
          ]
          const ports = ["", ":80", ":443", ":8080", ":080", ":0", ":65536", ":"]
          const paths = [
            "",
            "/",
            "/v1/orders",
            "/a b",
            "/..",
            "/a/../b",
            "/a/%2E%2e/b",
            "/%41%zz",
            "/a'b\"c",
            "\\a",
            "//a",
            "/é",
            "/a|b^c`d{}",
            "/a[0]",
            "/a;b=c,d:e@f!g$h&i*(j)~_-+",
            "?q",
            "/?a=b&c=%20'd'",
            "/?a[b]={c}|^`&d=e/f?g",
            "/?ü",
            "/#f",
            "/a#",
            "/a.b/c.d",
            "/.a"
          ]
          const all = ["http", "https", "HTTP", "ftp"].flatMap((scheme) =>
            hosts.flatMap((host) => ports.flatMap((port) => paths.map((path) => `${scheme}://${host}${port}${path}`)))
          )
          for (let from = 0; from < all.length; from += 2000) {
            const some = all.slice(from, from + 2000)
            const seen = yield* result(
              `return ctx.urls.map((url) => { try { return new Request(url).url } catch (e) { return e.code } })`,
              { urls: some }
            )
            assert.deepStrictEqual(
              seen,
              some.map((url) => parseUrl(url)?.href ?? "ERR_INVALID_URL")
            )
          }
        })
      )
      it.effect("has members that can be changed", () =>
        Effect.gen(function* () {
          const body = `
          const u = new URL("https://a.b:8443/x?y=1#z")
          u.searchParams.append("n", "a b&c"); u.searchParams.set("y", "2"); u.pathname = "/p q/é"; u.hash = "h i"; u.port = "443"
          const one = u.href
          u.host = "c.d:99"; u.search = "?k=v w"; u.username = "me:x"; u.protocol = "http"; u.hostname = "[::2]"
          const p = new URLSearchParams([["b", "2"], ["a", "1"], ["b", "ü~*'"]]); p.sort(); p.delete("a")
          return [one, u.href, u.searchParams.get("k"), p.toString(), [...p], p.getAll("b"), p.has("b"), p.size, new URLSearchParams({ q: "x+y z" }).toString(),
            new URLSearchParams("?a=b+c&d=%26&e").get("a"), URL.canParse("x"), JSON.stringify({ u })]`
          const host = runInThisContext(`(function () { ${body} })`)
          assert.deepStrictEqual(yield* result(body), JSON.parse(JSON.stringify(host())))
        })
      )
    })
  }
)
