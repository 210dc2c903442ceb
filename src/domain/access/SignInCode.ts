/** Codes that a person reads in one browser and types in another: eight letters and digits that are not mixed up. */

/** Half as many letters as a token's, so that each is as likely as the others. */
const letters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
const length = 8
const tokenLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/** The code of a random token of base64url letters. */
export const signInCode = (token: string): string =>
  Array.from(token.slice(0, length), (letter) => letters[tokenLetters.indexOf(letter) % letters.length] ?? "").join("")

/** The code as it is shown: in two halves. */
export const shownCode = (code: string): string => `${code.slice(0, length / 2)}-${code.slice(length / 2)}`

/** A code as somebody typed it: in any case, with blanks and hyphens. */
export const readCode = (text: string): string =>
  text
    .slice(0, 4 * length)
    .toUpperCase()
    .replace(/[\s-]/g, "")
