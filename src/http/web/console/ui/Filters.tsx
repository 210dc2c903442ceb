/** Filters of lists, which are kept in the address: a link shows the same list, and the browser's back button works. */
import { type ReactNode, useCallback, useEffect, useMemo, useState } from "react"
import { useSearchParams } from "wouter"
import { Button } from "./Button.js"
import { Select, TextField } from "./Field.js"
import { Empty } from "./States.js"

/** The filters `names` that are set, for `useList`, and `set` to change one; an empty value removes it. */
export const useFilters = <Name extends string>(names: ReadonlyArray<Name>) => {
  const [search, setSearch] = useSearchParams()
  const set = useCallback(
    (name: Name, value: string) =>
      setSearch(
        (before) => {
          const after = new URLSearchParams(before)
          if (value === "") after.delete(name)
          else after.set(name, value)
          return after
        },
        { replace: true }
      ),
    [setSearch]
  )
  const text = search.toString()
  const values = useMemo(() => {
    const found = new URLSearchParams(text)
    return Object.fromEntries(names.flatMap((name) => (found.get(name) ? [[name, found.get(name)]] : []))) as {
      readonly [one in Name]?: string
    }
    // The names of a page do not change.
  }, [text])
  const clear = useCallback(() => setSearch({}, { replace: true }), [setSearch])
  return { values, set, clear, isSet: Object.keys(values).length > 0 }
}

export const FilterBar = ({
  children,
  clear,
  isSet
}: {
  readonly children: ReactNode
  readonly isSet: boolean
  readonly clear: () => void
}) => (
  <search className="filters">
    {children}
    {isSet && (
      <Button kind="plain" onClick={clear}>
        Clear
      </Button>
    )}
  </search>
)

/** Text that filters when the typing has paused. */
const TextFilter = ({
  label,
  onChange,
  placeholder = "",
  value
}: {
  readonly label: string
  readonly value: string | undefined
  readonly onChange: (value: string) => void
  readonly placeholder?: string
}) => {
  const [text, setText] = useState(value ?? "")
  useEffect(() => setText(value ?? ""), [value])
  useEffect(() => {
    if (text === (value ?? "")) return undefined
    const timer = setTimeout(() => onChange(text), 300)
    return () => clearTimeout(timer)
  }, [text])
  return <TextField type="search" label={label} value={text} onChange={setText} placeholder={placeholder} />
}

const ChoiceFilter = ({
  label,
  onChange,
  options,
  value
}: {
  readonly label: string
  readonly value: string | undefined
  readonly onChange: (value: string) => void
  readonly options: Parameters<typeof Select>[0]["options"]
}) => <Select label={label} value={value ?? ""} onChange={onChange} options={options} none="All" />

/** A day in the person's zone, kept in the address as the time at which it begins. */
const DateFilter = ({
  label,
  onChange,
  value
}: {
  readonly label: string
  readonly value: string | undefined
  readonly onChange: (value: string) => void
}) => (
  <TextField
    type="datetime-local"
    label={label}
    value={value === undefined ? "" : localTime(value)}
    onChange={(chosen) => onChange(chosen === "" ? "" : new Date(chosen).toISOString())}
  />
)

/** As the browser's field has it: the person's zone, without its name. */
const localTime = (time: string): string => {
  const at = new Date(time)
  return Number.isNaN(at.getTime())
    ? ""
    : new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** A filter: a text that is typed, one of `options`, or a time. */
export interface FilterField<Name extends string = string> {
  readonly name: Name
  readonly label: string
  readonly placeholder?: string
  readonly options?: Parameters<typeof Select>[0]["options"]
  readonly isTime?: boolean
}

/** `useFilters` of these fields, which `FilterFields` shows. */
export const useFieldFilters = <Fields extends ReadonlyArray<FilterField>>(fields: Fields) => ({
  ...useFilters<Fields[number]["name"]>(fields.map(({ name }) => name)),
  fields
})

/** The filters of a list; the children stand beside them. */
export const FilterFields = <Name extends string>({
  children,
  clear,
  fields,
  isSet,
  set,
  values
}: Omit<ReturnType<typeof useFilters<Name>>, "set"> & {
  readonly set: (name: Name, value: string) => void
  readonly fields: ReadonlyArray<FilterField<Name>>
  readonly children?: ReactNode
}) => (
  <FilterBar isSet={isSet} clear={clear}>
    {fields.map(({ isTime, label, name, options, placeholder }) => {
      const shared = { label, value: values[name], onChange: (value: string) => set(name, value) }
      if (options !== undefined) return <ChoiceFilter key={name} {...shared} options={options} />
      if (isTime === true) return <DateFilter key={name} {...shared} />
      return <TextFilter key={name} {...shared} {...(placeholder === undefined ? {} : { placeholder })} />
    })}
    {children}
  </FilterBar>
)

/** Instead of a list of which nothing matches the filters. */
export const NoMatch = ({ clear, title }: { readonly title: string; readonly clear: () => void }) => (
  <Empty title={title} action={<Button onClick={clear}>Clear the filters</Button>} />
)
