/** A link whose address comes from data: only to pages of the web, without telling them where it was followed. */
import type { ReactNode } from "react"

const isWeb = (to: string): boolean => {
  try {
    return /^https?:$/.test(new URL(to, location.origin).protocol)
  } catch {
    return false
  }
}

export const SafeLink = ({ children, to }: { readonly to: string; readonly children: ReactNode }) =>
  isWeb(to) ? (
    <a href={to} rel="noopener noreferrer" target="_blank">
      {children}
    </a>
  ) : (
    <>{children}</>
  )
