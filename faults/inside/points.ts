/** A named moment in the life of a message or a delivery, such as `after accept`, and how often it is passed before the process dies there. */
export type Order = { readonly point: string; readonly passings: number }

let armed: Order | undefined

export function arm(order: Order | undefined): void {
  armed = order
}

/** The process is at that moment now. It ends here, at once and without a word, if that was ordered. */
export function pass(point: string): void {
  if (armed?.point !== point) return
  armed = { point, passings: armed.passings - 1 }
  if (armed.passings <= 0) process.kill(process.pid, 'SIGKILL')
}
