/** A countdown that can pause. */
export class Stopwatch {
  private timer: NodeJS.Timeout | undefined
  private since = 0
  private over = false

  constructor(
    private left: number,
    private readonly ring: () => void
  ) {}

  goOn(): void {
    if (this.over || this.timer !== undefined) return
    this.since = performance.now()
    this.timer = setTimeout(this.ring, this.left)
  }

  pause(): void {
    if (this.timer === undefined) return
    clearTimeout(this.timer)
    this.timer = undefined
    this.left -= performance.now() - this.since
  }

  end(): void {
    this.over = true
    clearTimeout(this.timer)
  }
}
