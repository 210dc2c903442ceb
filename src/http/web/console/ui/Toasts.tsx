/** Short messages that a change has succeeded, read out by screen readers. */
import { createContext, type ReactNode, useCallback, useContext, useState } from "react"

const Context = createContext<(text: string) => void>(() => undefined)
const shownMillis = 5_000
let made = 0

export const ToastProvider = ({ children }: { readonly children: ReactNode }) => {
  const [toasts, setToasts] = useState<ReadonlyArray<{ readonly id: number; readonly text: string }>>([])
  const show = useCallback((text: string) => {
    const id = (made += 1)
    setToasts((before) => [...before.slice(-2), { id, text }])
    setTimeout(() => setToasts((before) => before.filter((one) => one.id !== id)), shownMillis)
  }, [])
  return (
    <Context.Provider value={show}>
      {children}
      <ul className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, text }) => (
          <li key={id}>{text}</li>
        ))}
      </ul>
    </Context.Provider>
  )
}

/** Shows a message for five seconds. */
export const useToast = () => useContext(Context)
