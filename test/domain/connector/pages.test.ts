/** Pages: what the next one is asked with, and the items of each. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { missingItems, nextPageArgs, pageItems } from "../../../src/domain/connector/request/Pagination.js"
import { buildRequest } from "../../../src/domain/connector/request/UnsignedRequest.js"
import type { ProviderAnswer } from "../../../src/domain/connector/request/ProviderAnswer.js"
import type { Json } from "../../../src/domain/Json.js"
import { type ActionManifest, answer, connector } from "../../support/actionAnswers.js"

describe("pages", () => {
  const next = (pagination: ActionManifest["pagination"], args: Json, given: ProviderAnswer) =>
    nextPageArgs(connector({ pagination: pagination ?? assert.fail() }).action, args, given)

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
    const args = nextPageArgs(action, { a: 1 }, given)
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
    assert.deepStrictEqual(nextPageArgs(action, { offset: 1 }, answer({ data: [1, 2] })), { offset: 3 })
    assert.isNull(nextPageArgs(action, { offset: 3 }, answer({ data: [] })))
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

  it("never repeat: the next page always has other arguments", () => {
    const { action } = connector({ pagination: { type: "cursor", next: "$.n", param: "c" } })
    let args: Json = {}
    for (let at = 0; at < 3; at++) {
      const after = nextPageArgs(action, args, answer({ n: "same" }))
      if (after === null) return
      args = after
    }
    assert.fail("goes on for ever")
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
