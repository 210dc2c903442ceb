/** Times in the person's zone: how long ago, and exactly at a pointer's rest. */
import { useEffect, useState } from "react"

const units: ReadonlyArray<readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number]> = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1]
]
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "narrow" })
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" })

const ago = (at: number, now: number): string => {
  const seconds = Math.round((at - now) / 1_000)
  const [unit, size] = units.find(([, one]) => Math.abs(seconds) >= one) ?? ["second", 1]
  return relative.format(Math.round(seconds / size), unit)
}

/** One clock for all times on a page. */
let listeners: ReadonlyArray<() => void> = []
setInterval(() => listeners.forEach((tell) => tell()), 10_000)
const useNow = (): number => {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const tell = () => setNow(Date.now())
    listeners = [...listeners, tell]
    return () => {
      listeners = listeners.filter((one) => one !== tell)
    }
  }, [])
  return now
}

/** `at`: RFC 3339, or `null` for never. `isExact`: the time itself instead of how long ago. */
export const Time = ({
  at,
  isExact = false,
  never = "–"
}: {
  readonly at: string | null
  readonly isExact?: boolean
  readonly never?: string
}) => {
  const now = useNow()
  if (at === null) return <span className="soft">{never}</span>
  const time = Date.parse(at)
  const full = exact.format(time)
  return (
    <time dateTime={at} title={full} className="nowrap">
      {isExact || Math.abs(now - time) > 30 * 86_400_000 ? full : ago(time, now)}
    </time>
  )
}

/** Milliseconds as `840 ms`, `3.2 s`, `4 min 10 s` or `2 h 5 min`. */
export const durationText = (millis: number): string => {
  if (millis < 1_000) return `${Math.round(millis)} ms`
  if (millis < 60_000) return `${(millis / 1_000).toFixed(millis < 10_000 ? 2 : 1)} s`
  const minutes = Math.floor(millis / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.round((millis % 60_000) / 1_000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
