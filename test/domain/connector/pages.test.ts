/** Pages: what the next one is asked with, and the items of each. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { withoutPageMemory } from "../../../src/domain/connector/request/PageMemory.js"
import { missingItems, nextPageArgs, pageItems } from "../../../src/domain/connector/request/Pagination.js"
import { buildRequest } from "../../../src/domain/connector/request/UnsignedRequest.js"
import type { ProviderAnswer } from "../../../src/domain/connector/request/ProviderAnswer.js"
import { isObject, type Json, type JsonObject } from "../../../src/domain/Json.js"
import { type ActionManifest, answer, connector } from "../../support/actionAnswers.js"

const anyUrl = "https://api.acme.example/x"

describe("pages", () => {
  const next = (
    pagination: ActionManifest["pagination"],
    args: Json,
    given: ProviderAnswer,
    url = "https://api.acme.example/x?a=1"
  ) =>
    withoutPageMemory(
      Either.getOrThrow(nextPageArgs(connector({ pagination: pagination ?? assert.fail() }).action, args, given, url))
    )

  it("by cursor, in the body, in its last item or in a header", () => {
    const cursor = { type: "cursor", next: "$.paging.next.after", param: "after", items: "$.results" } as const
    assert.deepStrictEqual(next(cursor, { q: 1 }, answer({ paging: { next: { after: "2" } } })), { q: 1, after: "2" })
    assert.isNull(next(cursor, {}, answer({ paging: {} })))
    assert.isNull(next(cursor, {}, answer({ paging: { next: { after: "" } } })))
    assert.isNull(next(cursor, { after: "2" }, answer({ paging: { next: { after: "2" } } })), "a cursor that stays")
    const last = { type: "cursor", next: "$.data[-1].id", hasMore: "$.has_more", param: "starting_after" } as const
    assert.deepStrictEqual(next(last, {}, answer({ has_more: true, data: [{ id: "a" }, { id: "b" }] })), {
      starting_after: "b"
    })
    assert.isNull(next(last, {}, answer({ has_more: false, data: [{ id: "b" }] })))
    const header = { type: "cursor", nextHeader: "X-Next", param: "c" } as const
    assert.deepStrictEqual(next(header, {}, answer([], { headers: { "x-next": "n" } })), { c: "n" })
    assert.isNull(next(header, {}, answer("<html>", { type: "text/html" })))
  })

  it("by link: its parameter, or the link itself on the same origin", () => {
    const links =
      '<https://api.acme.example/x?page_info=p1>; rel="previous", <https://api.acme.example/x?a=1&page_info=p2>; rel=next'
    const given = answer([], { headers: { Link: links } })
    assert.deepStrictEqual(next({ type: "link", param: "page_info" }, { a: 1 }, given), { a: 1, page_info: "p2" })
    assert.deepStrictEqual(next({ type: "link", param: "cursor", linkParam: "page_info" }, {}, given), { cursor: "p2" })
    assert.deepStrictEqual(next({ type: "link", next: "$.next", param: "page" }, {}, answer({ next: "/x?page=3" })), {
      page: "3"
    })
    assert.isNull(next({ type: "link", param: "page_info" }, {}, answer([])))
    const { action, definition } = connector({ pagination: { type: "link" } })
    const args = next({ type: "link" }, { a: 1 }, given)
    assert.deepStrictEqual(args, { a: 1, $next: "https://api.acme.example/x?a=1&page_info=p2" })
    const ask = (value: Json) => buildRequest(definition, action, { args: value, config: {}, idempotencyKey: "" })
    assert.strictEqual(Either.getOrThrow(ask(args)).url, "https://api.acme.example/x?a=1&page_info=p2")
    for (const $next of [
      "https://evil.example/x",
      "//evil.example",
      "https://api.acme.example@evil.example",
      "http://api.acme.example/x",
      "javascript:1",
      5,
      "https://u:p@api.acme.example/"
    ]) {
      assert.isTrue(Either.isLeft(ask({ $next })), String($next))
    }
  })

  it("counts the items of the result if `items` is absent", () => {
    const { action } = connector({ pagination: { type: "offset" }, response: { map: "$.data" } })
    const after = (args: Json, data: Json) => Either.getOrThrow(nextPageArgs(action, args, answer({ data }), anyUrl))
    assert.deepStrictEqual(after({ offset: 1 }, [1, 2]), { offset: 3 })
    assert.isNull(after({ offset: 3 }, []))
  })

  it("by offset and by page, until one is empty, short, or the total is reached", () => {
    const offset = { type: "offset", param: "offset", items: "$.items", sizeParam: "limit", size: 2 } as const
    assert.deepStrictEqual(next(offset, {}, answer({ items: [1, 2] })), { offset: 2 })
    assert.deepStrictEqual(next(offset, { offset: "2", limit: 3 }, answer({ items: [1, 2, 3] })), {
      offset: 5,
      limit: 3
    })
    assert.isNull(next(offset, { offset: 2 }, answer({ items: [1] })))
    assert.isNull(next({ ...offset, total: "$.total" }, { offset: 2 }, answer({ items: [3, 4], total: 4 })))
    const page = { type: "page", items: "$.items" } as const
    assert.deepStrictEqual(next(page, {}, answer({ items: [1] })), { page: 2 })
    assert.isNull(next(page, { page: 4 }, answer({ items: [] })))
    assert.isNull(next({ ...page, totalPages: "$.pages" }, { page: 2 }, answer({ items: [1], pages: 2 })))
    assert.deepStrictEqual(next({ ...page, totalPages: "$.pages" }, { page: 1 }, answer({ items: [1], pages: 2 })), {
      page: 2
    })
    assert.isNull(next({ ...page, hasMore: "$.more" }, {}, answer({ items: [1], more: false })))
    assert.deepStrictEqual(next({ ...page, size: 5, hasMore: "$.more" }, {}, answer({ items: [1], more: true })), {
      page: 2
    })
    assert.deepStrictEqual(next({ ...page, first: 0, total: "$.t", size: 2 }, {}, answer({ items: [1, 2], t: 3 })), {
      page: 1
    })
  })

  const forms = ["?page=2", "list?page=2", "./list?page=2", "/v2/list?page=2", "//api.acme.example/v2/list?page=2"]
  it.each(forms)("by a link that is relative to the URL that was asked: %s", (link) => {
    const asked = "https://api.acme.example/v2/list?page=1"
    const nextUrl = "https://api.acme.example/v2/list?page=2"
    assert.deepStrictEqual(next({ type: "link", next: "n" }, {}, answer({ n: link }), asked), { $next: nextUrl })
    assert.deepStrictEqual(next({ type: "link", next: "n", param: "page" }, {}, answer({ n: link }), asked), {
      page: "2"
    })
    const header = answer([], { headers: { link: `<${link}>; rel="next"` } })
    assert.deepStrictEqual(next({ type: "link" }, {}, header, asked), { $next: nextUrl })
    const redirected = { ...header, url: asked }
    assert.deepStrictEqual(next({ type: "link" }, {}, redirected, "https://api.acme.example/old/x"), { $next: nextUrl })
    const elsewhere = { ...header, url: "https://cdn.example/v1/x" }
    assert.deepStrictEqual(next({ type: "link" }, {}, elsewhere, asked), { $next: nextUrl })
  })

  it("by the next link in whichever line it stands", () => {
    const lines = ["self", "next"].map(
      (rel) => ["link", `<https://api.acme.example/x?rel=${rel}>; rel="${rel}"`] as const
    )
    for (const headers of [lines, lines.toReversed()])
      assert.deepStrictEqual(next({ type: "link" }, {}, { ...answer([]), headers }), {
        $next: "https://api.acme.example/x?rel=next"
      })
  })

  /** The pages that are read until the list ends or fails. */
  const walk = (pagination: ActionManifest["pagination"], answerTo: (args: JsonObject) => ProviderAnswer) => {
    const { action } = connector({ pagination: pagination ?? assert.fail() })
    for (let args: JsonObject = {}, pages = 1; ; pages++) {
      const after = nextPageArgs(action, args, answerTo(args), anyUrl)
      if (Either.isLeft(after)) return [pages, after.left.code, after.left.category]
      if (!isObject(after.right)) return [pages, "end"]
      assert.isBelow(JSON.stringify(after.right).length, 1_500, "the memory of pages stays small")
      args = after.right
    }
  }

  it.each([
    [1, 1, 2],
    [1, 2, 3],
    [5, 3, 8],
    [100, 20, 120]
  ])("fail when a cursor of an earlier page comes again: after %i pages, in a cycle of %i", (lead, cycle, pages) => {
    const after = (at: number) => (at < lead + cycle - 1 ? at + 1 : lead)
    const found = walk({ type: "cursor", next: "n", param: "c" }, ({ c = 0 }) => answer({ n: after(Number(c)) }))
    assert.deepStrictEqual(found, cycle === 1 ? [pages, "end"] : [pages, "PAGINATION_LOOP", "provider"])
    const byLink = walk({ type: "link", next: "n" }, ({ $next = "?p=0" }) =>
      answer({ n: `?p=${after(Number(String($next).split("p=")[1]))}` })
    )
    assert.deepStrictEqual(byLink, found)
  })

  it("are found to repeat also in long lists, at the latest after as many pages again", () => {
    const [pages, code] = walk({ type: "cursor", next: "n", param: "c" }, ({ c = 0 }) =>
      answer({ n: Number(c) < 3_000 ? Number(c) + 1 : 2_500 })
    )
    assert.strictEqual(code, "PAGINATION_LOOP")
    assert.isBelow(Number(pages), 6_000)
  })

  it("send what they remember to no provider", () => {
    const { action, definition } = connector({
      request: { method: "GET", path: "/x", query: "{{args}}" },
      pagination: { type: "cursor", next: "n", param: "c" }
    })
    const args = Either.getOrThrow(nextPageArgs(action, { a: 1 }, answer({ n: "2" }), anyUrl)) ?? assert.fail()
    const { url } = Either.getOrThrow(buildRequest(definition, action, { args, config: {}, idempotencyKey: "" }))
    assert.strictEqual(url, "https://api.acme.example/x?a=1&c=2")
  })

  it("fail when the provider gives empty pages without end, and says that there are more", () => {
    const empty = answer({ items: [], more: true })
    for (const type of ["page", "offset"] as const)
      assert.deepStrictEqual(
        walk({ type, items: "items", hasMore: "more", size: 2 }, () => empty),
        [1_000, "PAGINATION_LOOP", "provider"]
      )
  })

  it.each<readonly [more: object, body: JsonObject, next: Json]>([
    [{ hasMore: "$.more" }, { more: true }, { page: 3 }],
    [{ hasMore: "$.more" }, { more: "true" }, { page: 3 }],
    [{ hasMore: "$.more", size: 2 }, { more: 1 }, { page: 3 }],
    [{ hasMore: "$.more" }, { more: false }, null],
    [{ hasMore: "$.more" }, {}, null],
    [{ totalPages: "$.pages" }, { pages: 3 }, { page: 3 }],
    [{ totalPages: "$.pages" }, { pages: "3" }, { page: 3 }],
    [{ totalPages: "$.pages" }, { pages: 2 }, null],
    [{ totalPages: "$.pages" }, { pages: " " }, null],
    [{ total: "$.total" }, { total: 90 }, null],
    [{}, {}, null]
  ])("go on after an empty page if the provider says so: with %j and %j", (more, body, expected) => {
    const given = answer({ items: [], ...body })
    assert.deepStrictEqual(next({ type: "page", items: "items", ...more }, { page: 2 }, given), expected)
  })

  it("go on after an empty page by an offset only if the size is known", () => {
    const given = answer({ items: [], more: true, pages: 9 })
    const offset = { type: "offset", items: "items", hasMore: "more" } as const
    assert.isNull(next(offset, { offset: 4 }, given))
    assert.deepStrictEqual(next({ ...offset, size: 2 }, { offset: 4 }, given), { offset: 6 })
    assert.deepStrictEqual(next({ ...offset, sizeParam: "limit" }, { offset: 4, limit: 3 }, given), {
      offset: 7,
      limit: 3
    })
    const byPages = { type: "offset", items: "items", totalPages: "pages", size: 2 } as const
    assert.deepStrictEqual(next(byPages, { offset: 14 }, given), { offset: 16 })
    assert.isNull(next(byPages, { offset: 16 }, given))
  })

  it("have items, wherever the result keeps them", () => {
    const { action } = connector({ pagination: { type: "page", items: "$.results" } })
    assert.deepStrictEqual(pageItems(action, [1]), [1])
    assert.deepStrictEqual(pageItems(action, { results: [2] }), [2])
    assert.deepStrictEqual(pageItems(action, { results: 3 }), [])
    assert.deepStrictEqual(pageItems(action, null), [])
  })

  it.each<readonly [result: Json, items: string, isMissing: boolean]>([
    [{ results: [] }, "$.results", false],
    [{ results: null }, "$.results", false],
    [{}, "results", false],
    [[], "results", false],
    [{ data: {} }, "data.results", false],
    [{ data: [] }, "$", true],
    [null, "results", false],
    ["<html>", "results", true],
    [{ results: { id: 1 } }, "results", true],
    [{ results: 3 }, "results", true],
    [{ error: "no such thing" }, "data.results", true],
    [{ pipelines: [{ stages: [] }] }, "pipelines[*].stages", false],
    [{ pipelines: "none" }, "pipelines[*].stages", true]
  ])("of %j at %s: whether the list is missing, not merely left out, is %s", (result, items, isMissing) => {
    const { action } = connector({ pagination: { type: "page", items } })
    assert.strictEqual(missingItems(action, result) !== undefined, isMissing)
  })

  it("are those of the lists in every item of a list, where the path says so", () => {
    const { action: nested } = connector({ pagination: { type: "link", next: "next", items: "pipelines[*].stages" } })
    assert.deepStrictEqual(pageItems(nested, { pipelines: [{ stages: [1, 2] }, {}, { stages: [3] }] }), [1, 2, 3])
    assert.deepStrictEqual(pageItems(nested, { pipelines: null }), [])
  })
})
