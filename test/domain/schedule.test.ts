import { assert, describe, it } from "@effect/vitest"
import { nextAfter, scheduleMistakes, type Ticks } from "../../src/domain/trigger/Schedule.js"
import { nextFires } from "../../src/domain/trigger/TriggerChanges.js"

const cron = (text: string, timezone = "UTC"): Ticks => ({
  mode: "cron",
  cron: text,
  every: null,
  timezone,
  startsAt: null,
  anchorAt: "2026-01-01T00:00:00.000Z"
})

/** The ticks after `from` until `to`. */
const ticksBetween = (ticks: Ticks, from: string, to: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let at: number | null = Date.parse(from)
  for (;;) {
    at = nextAfter(ticks, at)
    if (at === null || at > Date.parse(to)) return found
    found.push(new Date(at).toISOString().slice(0, 16))
  }
}

// --- A second implementation, which walks over the minutes of the zone ---

const names = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
const weekdays = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]

const valuesOf = (field: string, low: number, high: number): ReadonlySet<number> => {
  const numberOf = (text: string) =>
    names.includes(text) ? names.indexOf(text) + 1 : weekdays.includes(text) ? weekdays.indexOf(text) : Number(text)
  const values = field.split(",").flatMap((part) => {
    const [range = "", step] = part.split("/")
    const [from, to] = range === "*" ? [low, high] : range.split("-").map(numberOf)
    const all: Array<number> = []
    for (let n = from ?? low; n <= (to ?? from ?? low); n += Number(step ?? 1)) all.push(n)
    return all
  })
  return new Set(values)
}

const matcherOf = (text: string): ((wall: Date) => boolean) => {
  const [m = "", h = "", dom = "", mon = "", dow = ""] = text.split(" ")
  const [minutes, hours, days, months] = [
    valuesOf(m, 0, 59),
    valuesOf(h, 0, 23),
    valuesOf(dom, 1, 31),
    valuesOf(mon, 1, 12)
  ]
  const week = new Set([...valuesOf(dow, 0, 6)].map((one) => one % 7))
  return (wall) => {
    const isDay = days.has(wall.getUTCDate())
    const isWeekday = week.has(wall.getUTCDay())
    return (
      minutes.has(wall.getUTCMinutes()) &&
      hours.has(wall.getUTCHours()) &&
      months.has(wall.getUTCMonth() + 1) &&
      (dom !== "*" && dow !== "*" ? isDay || isWeekday : isDay && isWeekday)
    )
  }
}

const localMinutes = (zone: string) => {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone: zone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit"
  })
  const found = new Map<number, number>()
  return (at: number): number => {
    const local = found.get(at) ?? Date.parse(`${format.format(at).replace(" ", "T")}:00.000Z`)
    found.set(at, local)
    return local
  }
}

const minute = 60_000

const walkedTicks = (text: string, local: (at: number) => number, from: string, to: string): ReadonlyArray<string> => {
  const matches = matcherOf(text)
  const goesOn = ["*", "*/1"].includes(text.split(" ")[1] ?? "")
  const found: Array<string> = []
  // Begins a day early, so that a repetition at the beginning is recognised.
  const begin = Date.parse(from) - 86_400_000
  let latest = local(begin)
  for (let at = begin + minute; at <= Date.parse(to); at += minute) {
    const wall = local(at)
    // An expression of every hour counts the minutes of a repetition, too.
    let isDue = goesOn && matches(new Date(wall))
    for (let one = latest + minute; one <= wall; one += minute) isDue = matches(new Date(one)) || isDue
    if (isDue && at > Date.parse(from)) found.push(new Date(at).toISOString().slice(0, 16))
    latest = Math.max(latest, wall)
  }
  return found
}

describe("cron", () => {
  const patterns = [
    "* * * * *",
    "*/7 * * * *",
    "0 * * * *",
    "*/15 * * * *",
    "20,45 * * * SUN",
    "5 * 25 10 *",
    "*/15 */1 * * *",
    "*/15 */2 * * *",
    "*/15 0-23 * * *",
    "30 2 * * *",
    "15 1-3 * * *",
    "0,30 0,2,12 * * *",
    "5 0 * * MON-FRI",
    "0 12 1,15 * 5",
    "10-50/20 */6 * JAN,MAR,OCT,NOV 0",
    "0 0 31 * *",
    "59 23 28-31 * *"
  ]
  const windows = [
    ["Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z"],
    ["Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z"],
    ["America/New_York", "2026-03-07T12:00:00Z", "2026-03-09T12:00:00Z"],
    ["America/New_York", "2026-10-31T12:00:00Z", "2026-11-02T12:00:00Z"],
    ["Australia/Lord_Howe", "2026-04-04T00:00:00Z", "2026-04-06T00:00:00Z"],
    ["Australia/Lord_Howe", "2026-10-03T00:00:00Z", "2026-10-05T00:00:00Z"],
    ["America/Havana", "2026-03-07T12:00:00Z", "2026-03-09T12:00:00Z"],
    ["America/Havana", "2026-10-31T12:00:00Z", "2026-11-02T12:00:00Z"],
    ["America/Santiago", "2026-04-04T12:00:00Z", "2026-04-06T12:00:00Z"],
    ["Asia/Kathmandu", "2026-12-30T12:00:00Z", "2027-01-02T12:00:00Z"],
    ["Pacific/Apia", "2011-12-29T00:00:00Z", "2012-01-01T12:00:00Z"],
    ["UTC", "2028-02-27T00:00:00Z", "2028-03-01T12:00:00Z"]
  ] as const
  for (const [zone, from, to] of windows) {
    it(`fires like a walk over all minutes of ${zone} from ${from.slice(0, 10)}`, () => {
      const local = localMinutes(zone)
      for (const pattern of patterns)
        assert.deepStrictEqual(
          ticksBetween(cron(pattern, zone), from, to),
          walkedTicks(pattern, local, from, to),
          `${pattern} in ${zone}`
        )
    })
  }

  const table = [
    // A local time that the zone skips fires once, at the next minute that exists.
    ["30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", "2026-03-30T12:00Z", ["2026-03-29T01:00", "2026-03-30T00:30"]],
    ["*/20 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", "2026-03-29T12:00Z", ["2026-03-29T01:00"]],
    ["0 0 * * *", "America/Havana", "2026-03-07T12:00Z", "2026-03-09T02:00Z", ["2026-03-08T05:00"]],
    ["45 1 * * *", "Europe/London", "2026-03-28T12:00Z", "2026-03-29T12:00Z", ["2026-03-29T01:00"]],
    ["15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00Z", "2026-10-04T12:00Z", ["2026-10-03T15:30"]],
    ["0 9 30 12 *", "Pacific/Apia", "2011-12-29T12:00Z", "2012-01-01T12:00Z", ["2011-12-30T10:00"]],
    // A local time that the zone repeats fires once, at its first occurrence.
    ["30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", "2026-10-25T12:00Z", ["2026-10-25T00:30"]],
    // An expression of every hour goes on through the repeated one: here 2:45, 2:00, 2:15, 2:30, 2:45 and 3:00.
    [
      "*/15 * * * *",
      "Europe/Berlin",
      "2026-10-25T00:30Z",
      "2026-10-25T02:00Z",
      [
        "2026-10-25T00:45",
        "2026-10-25T01:00",
        "2026-10-25T01:15",
        "2026-10-25T01:30",
        "2026-10-25T01:45",
        "2026-10-25T02:00"
      ]
    ],
    [
      "0\t*\t* * *",
      "America/New_York",
      "2026-11-01T04:00Z",
      "2026-11-01T08:00Z",
      ["2026-11-01T05:00", "2026-11-01T06:00", "2026-11-01T07:00", "2026-11-01T08:00"]
    ],
    // Half an hour is repeated: from 1:30 to 1:59.
    [
      "0,45 * * * *",
      "Australia/Lord_Howe",
      "2026-04-04T14:00Z",
      "2026-04-04T15:30Z",
      ["2026-04-04T14:45", "2026-04-04T15:15", "2026-04-04T15:30"]
    ],
    ["45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00Z", "2026-04-05T12:00Z", ["2026-04-04T14:45"]],
    // The skipped hour, and the day that Apia skipped, fire once.
    [
      "30 * * * *",
      "Europe/Berlin",
      "2026-03-29T00:00Z",
      "2026-03-29T02:00Z",
      ["2026-03-29T00:30", "2026-03-29T01:00", "2026-03-29T01:30"]
    ],
    [
      "30 * * * *",
      "Pacific/Apia",
      "2011-12-30T09:00Z",
      "2011-12-30T11:00Z",
      ["2011-12-30T09:30", "2011-12-30T10:00", "2011-12-30T10:30"]
    ],
    // Steps, lists and ranges name hours.
    [
      "*/30 0-23 * * *",
      "Europe/Berlin",
      "2026-10-25T00:00Z",
      "2026-10-25T02:00Z",
      ["2026-10-25T00:30", "2026-10-25T02:00"]
    ],
    ["30 1 * * *", "America/New_York", "2026-10-31T12:00Z", "2026-11-01T12:00Z", ["2026-11-01T05:30"]],
    [
      "0 1-3 * * *",
      "America/New_York",
      "2026-11-01T04:00Z",
      "2026-11-01T09:00Z",
      ["2026-11-01T05:00", "2026-11-01T07:00", "2026-11-01T08:00"]
    ],
    // A month without the day is passed over, and so are years without 29 February.
    ["0 12 31 * *", "UTC", "2026-03-31T12:00Z", "2026-08-01T00:00Z", ["2026-05-31T12:00", "2026-07-31T12:00"]],
    ["0 0 29 2 *", "UTC", "2026-01-01T00:00Z", "2033-01-01T00:00Z", ["2028-02-29T00:00", "2032-02-29T00:00"]]
  ] as const
  for (const [pattern, zone, from, to, expected] of table) {
    it(`fires ${pattern} in ${zone} after ${from} at ${expected.join(", ")}`, () => {
      assert.deepStrictEqual(ticksBetween(cron(pattern, zone), from, to), expected)
    })
  }

  it("begins after startsAt, which may itself be a tick", () => {
    const ticks = { ...cron("0 9 * * *"), startsAt: "2026-11-22T09:00:00Z" }
    assert.deepStrictEqual(ticksBetween(ticks, "2026-11-01T00:00Z", "2026-11-23T12:00Z"), [
      "2026-11-22T09:00",
      "2026-11-23T09:00"
    ])
  })
})

describe("the next fires of a schedule with a delay", () => {
  const everyHour = {
    ...cron("0 * * * *"),
    anchorAt: "2026-11-27T01:02:00.000Z",
    runOnCreate: false,
    delayMinutes: 5,
    overlap: "skip",
    catchUp: "one"
  } as const

  it("leave out a tick that had passed when the schedule was made, though its delay had not", () => {
    assert.strictEqual(nextFires(everyHour, Date.parse("2026-11-27T01:03:00Z"))[0], "2026-11-27T02:05:00.000Z")
  })

  it("hold a later tick until its delay has passed", () => {
    assert.strictEqual(nextFires(everyHour, Date.parse("2026-11-27T02:03:00Z"))[0], "2026-11-27T02:05:00.000Z")
    assert.strictEqual(nextFires(everyHour, Date.parse("2026-11-27T02:05:00Z"))[0], "2026-11-27T03:05:00.000Z")
  })
})

describe("intervals and calendars", () => {
  const ticks = (change: Partial<Ticks>): Ticks => ({ ...cron(""), cron: null, ...change })
  const table: ReadonlyArray<readonly [string, Partial<Ticks>, string, string, ReadonlyArray<string>]> = [
    [
      "an interval counts elapsed time, over the repeated hour too",
      {
        mode: "interval",
        every: { n: 90, unit: "minutes" },
        timezone: "Europe/Berlin",
        startsAt: "2026-10-25T00:00:00Z"
      },
      "2026-10-24T23:00Z",
      "2026-10-25T04:00Z",
      ["2026-10-25T00:00", "2026-10-25T01:30", "2026-10-25T03:00"]
    ],
    [
      "an interval without a start counts from the last edit",
      { mode: "interval", every: { n: 2, unit: "hours" }, anchorAt: "2026-11-22T10:10:00.000Z" },
      "2026-11-22T10:10Z",
      "2026-11-22T15:00Z",
      ["2026-11-22T12:10", "2026-11-22T14:10"]
    ],
    [
      "a daily schedule keeps its local time over a change of the clocks",
      {
        mode: "daily",
        every: { n: 1, unit: "days" },
        timezone: "America/New_York",
        startsAt: "2026-10-31T13:00:00Z"
      },
      "2026-10-30T00:00Z",
      "2026-11-02T20:00Z",
      ["2026-10-31T13:00", "2026-11-01T14:00", "2026-11-02T14:00"]
    ],
    [
      "a daily schedule fires a skipped local time at the next minute that exists",
      { mode: "daily", every: { n: 1, unit: "days" }, timezone: "Europe/Berlin", startsAt: "2026-03-28T01:30:00Z" },
      "2026-03-28T00:00Z",
      "2026-03-30T12:00Z",
      ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"]
    ],
    [
      "a weekly schedule of every second week",
      { mode: "weekly", every: { n: 2, unit: "weeks" }, startsAt: "2026-01-05T08:00:00Z" },
      "2026-11-20T00:00Z",
      "2026-12-15T00:00Z",
      ["2026-11-23T08:00", "2026-12-07T08:00"]
    ],
    [
      "a monthly schedule on the 31st fires on the last day of shorter months",
      { mode: "monthly", every: { n: 1, unit: "months" }, startsAt: "2026-01-31T06:00:00Z" },
      "2028-01-01T00:00Z",
      "2028-05-01T00:00Z",
      ["2028-01-31T06:00", "2028-02-29T06:00", "2028-03-31T06:00", "2028-04-30T06:00"]
    ]
  ]
  for (const [name, change, from, to, expected] of table) {
    it(name, () => {
      assert.deepStrictEqual(ticksBetween(ticks(change), from, to), expected)
    })
  }
})

describe("what cannot fire is refused with its path", () => {
  const now = Date.parse("2026-11-22T00:00:00Z")
  const table = [
    [{ mode: "cron" }, "schedule.cron", "REQUIRED"],
    [{ mode: "cron", cron: "0 0 30 2 *" }, "schedule.cron", "NEVER_FIRES"],
    [{ mode: "cron", cron: "0 0 L * *" }, "schedule.cron", "SYNTAX_ERROR"],
    [{ mode: "cron", cron: "0 0 * * 5#2" }, "schedule.cron", "SYNTAX_ERROR"],
    [{ mode: "cron", cron: "0 0 15W * *" }, "schedule.cron", "SYNTAX_ERROR"],
    [{ mode: "cron", cron: "@daily" }, "schedule.cron", "SYNTAX_ERROR"],
    [{ mode: "cron", cron: "* * * * * *" }, "schedule.cron", "SYNTAX_ERROR"],
    [{ mode: "cron", cron: "60 * * * *" }, "schedule.cron", "SYNTAX_ERROR"],
    [{ mode: "cron", cron: "0 22-2 * * *" }, "schedule.cron", "SYNTAX_ERROR"],
    [{ mode: "cron", cron: "0 9 * * *", timezone: "Europe/Atlantis" }, "schedule.timezone", "INVALID_VALUE"],
    [{ mode: "cron", cron: "0 9 * * *", timezone: "+02:00" }, "schedule.timezone", "INVALID_VALUE"],
    [{ mode: "cron", cron: "0 9 * * *", every: { n: 1 } }, "schedule.every", "NOT_ALLOWED"],
    [{ mode: "interval" }, "schedule.every", "REQUIRED"],
    [{ mode: "interval", every: { n: 1, unit: "months" } }, "schedule.every.unit", "INVALID_VALUE"],
    [{ mode: "daily", every: { n: 1, unit: "hours" } }, "schedule.every.unit", "INVALID_VALUE"],
    [{ mode: "weekly", cron: "0 9 * * *" }, "schedule.cron", "NOT_ALLOWED"]
  ] as const
  for (const [input, path, code] of table) {
    it(`${JSON.stringify(input)}: ${path} ${code}`, () => {
      assert.deepStrictEqual(
        scheduleMistakes(input, now).map((mistake) => [mistake.path, mistake.code]),
        [[path, code]]
      )
    })
  }

  it("accepts what can fire", () => {
    assert.deepStrictEqual(
      [
        ...scheduleMistakes({ mode: "cron", cron: "*/5  9-17 * * mon-fri", timezone: "Europe/Berlin" }, now),
        ...scheduleMistakes({ mode: "cron", cron: "0 0 29 2 *" }, now),
        ...scheduleMistakes({ mode: "interval", every: { n: 5 } }, now),
        ...scheduleMistakes({ mode: "monthly" }, now)
      ],
      []
    )
  })
})
