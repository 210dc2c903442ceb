/** Statements of svc.db whose answers are as large as allowed, or larger. */

/** Each answer is above the cap. */
export const tooLargeAnswers = [
  "SELECT repeat('x', 60000000)",
  "SELECT repeat('x', 30000) FROM generate_series(1, 10000)",
  "SELECT (repeat('x', 9000000))::int",
  "SELECT ('[' || repeat('1,', 4000000) || '1]')::json",
  "SELECT array_agg(1) FROM generate_series(1, 1000000)",
  "SELECT * FROM generate_series(1, 10001)",
  `SELECT ${Array.from({ length: 1600 }, (_, i) => `NULL AS c${i}`).join(", ")} FROM generate_series(1, 10000)`,
  `SELECT ${Array.from({ length: 1600 }, (_, i) => `${i} AS "${"n".repeat(58)}${i}"`).join(", ")} FROM generate_series(1, 200)`,
  "SELECT repeat(chr(1), 2000000)"
]

/** Each answer is just below the cap. */
export const largestAnswers = [
  "SELECT i, repeat('x', 700) AS t FROM generate_series(1, 10000) i",
  `SELECT ('[' || repeat('"${"x".repeat(60)}",', 99000) || '1]')::json`,
  "SELECT ('{' || string_agg(format('\"key%s\":{}', i), ',') || '}')::json FROM generate_series(1, 49000) i",
  "SELECT array_agg(i) FROM generate_series(1, 99000) i",
  `SELECT ${Array.from({ length: 19 }, (_, i) => `${i} AS c${i}`).join(", ")} FROM generate_series(1, 10000)`,
  `SELECT ${Array.from({ length: 1500 }, (_, i) => `${i} AS c${i}`).join(", ")} FROM generate_series(1, 130)`
]
