/** What runs read from svc.db that is too large, too deep or just allowed, and what they are answered. */
const deep = (levels: number) => `SELECT ('${"[".repeat(levels)}' || '${"]".repeat(levels)}')::json AS v`
const columns = (count: number) => Array.from({ length: count }, (_, i) => `i AS c${i}`).join(", ")

export const largeReads: ReadonlyArray<readonly [string, unknown]> = [
  [deep(3_000), { name: "DatabaseError", code: "TOO_DEEP" }],
  [deep(6_000), { name: "DatabaseError", code: "TOO_DEEP" }],
  ["SELECT repeat('x', 60000000) AS v", { name: "DatabaseError", code: "TOO_LARGE" }],
  ["SELECT (repeat('x', 60000000))::int", { name: "DatabaseError", code: "TOO_LARGE" }],
  ["SELECT i, repeat('x', 700) AS t FROM generate_series(1, 10000) i", { rows: 10_000 }],
  [`SELECT ${columns(19)} FROM generate_series(1, 10000) i`, { rows: 10_000 }],
  [`SELECT ${columns(1_500)} FROM generate_series(1, 130) i`, { rows: 130 }],
  [`SELECT ${columns(1_500)} FROM generate_series(1, 140) i`, { name: "DatabaseError", code: "TOO_LARGE" }],
  ["SELECT json_agg(json_build_object('a', i)) AS v FROM generate_series(1, 45000) i", { rows: 1 }],
  [`SELECT ('[' || repeat('"${"x".repeat(70)}",', 99000) || '1]')::json AS v`, { rows: 1 }]
]
