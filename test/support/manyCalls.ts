/** Runs that make more calls than they await, or set many timers: name, code, and the output or the name of the error. */
export const manyCalls: ReadonlyArray<readonly [name: string, code: string, expected: unknown]> = [
  [
    "ends with thousands of reads that are not awaited",
    `for (let i = 0; i < 4000; i++) svc.state.get("k" + i); return await svc.state.get("x")`,
    null
  ],
  [
    "gets the results of as many calls as a run is allowed",
    `const all = []; for (let i = 0; i < 9999; i++) all.push(svc.envConfig.get("k" + i, i)); return (await Promise.all(all)).every((v, i) => v === i)`,
    true
  ],
  [
    "fails as TooManyCalls beyond the allowed number of calls",
    `const all = []; for (let i = 0; i < 20000; i++) all.push(svc.state.get("k" + i)); return (await Promise.all(all)).length`,
    "TooManyCalls"
  ],
  [
    "sets thousands of short timers, which fire in the order of their times",
    `const order = []; for (let i = 0; i < 3000; i++) setTimeout(() => order.push(i % 300), i % 300); await new Promise((r) => setTimeout(r, 320)); return order.length === 3000 && order.every((v, i) => i === 0 || order[i - 1] <= v)`,
    true
  ],
  [
    "sets thousands of long timers",
    `for (let i = 0; i < 5000; i++) setTimeout(() => {}, 50_000); await new Promise((r) => setTimeout(r, 1)); return 1`,
    1
  ],
  [
    "writes thousands of long lines in one step",
    `const s = "x".repeat(1500); for (let i = 0; i < 9900; i++) console.log(s); return 5`,
    5
  ],
  [
    "fails as TooMuchAsked when the arguments of waiting calls become too many",
    `const s = "x".repeat(1 << 20); for (let i = 0; i < 9; i++) { for (let k = 0; k < 12; k++) fetch(ctx.input.url + "hang", { method: "POST", body: s }); await new Promise((r) => setTimeout(r, 1)) } return 1`,
    "TooMuchAsked"
  ],
  [
    "ends on time, since timers take no place among the concurrent calls",
    `for (let i = 0; i < 200; i++) new Promise((r) => setTimeout(r, 20_000)); await new Promise((r) => setTimeout(r, 5)); return "on time"`,
    "on time"
  ]
]
