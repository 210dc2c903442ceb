/** A chart over time, drawn on a canvas; a table beside it says the same. */
import { useEffect, useRef } from "react"
import uPlot from "uplot"

export interface ChartSeries {
  readonly name: string
  /** The custom property of the tokens that has its colour, as `--good`. */
  readonly color: string
  readonly values: ReadonlyArray<number | null>
}

const height = 180

/** A canvas knows no custom properties: the colour as the theme has it now. */
const colorOf = (property: string): string => {
  const probe = document.createElement("span")
  probe.style.color = `var(${property})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** `times`: Unix milliseconds. `label` is what a screen reader says. */
export const Chart = ({
  label,
  series,
  times
}: {
  readonly label: string
  readonly times: ReadonlyArray<number>
  readonly series: ReadonlyArray<ChartSeries>
}) => {
  const frame = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const place = frame.current
    if (place === null) return undefined
    const ink = colorOf("--soft")
    const edge = colorOf("--edge")
    const axis = { stroke: ink, grid: { stroke: edge, width: 1 }, ticks: { stroke: edge, width: 1 } }
    const chart = new uPlot(
      {
        width: Math.max(200, place.clientWidth),
        height,
        axes: [axis, { ...axis, size: 44 }],
        scales: { y: { range: (_, least, most) => [Math.min(0, least), Math.max(1, most)] } },
        series: [
          {},
          ...series.map(({ color, name }) => ({
            label: name,
            stroke: colorOf(color),
            width: 1.5,
            points: { show: false }
          }))
        ]
      },
      [times.map((time) => time / 1_000), ...series.map(({ values }) => [...values])] as uPlot.AlignedData,
      place
    )
    const watch = new ResizeObserver(() => chart.setSize({ width: Math.max(200, place.clientWidth), height }))
    watch.observe(place)
    return () => {
      watch.disconnect()
      chart.destroy()
    }
  }, [series, times])
  return <div ref={frame} className="chart" role="img" aria-label={label} />
}
