/** Kills the process when it reaches a point, such as `after accept`, for the n-th time. */
export type KillPoint = { readonly point: string; readonly times: number }

let armed: KillPoint | undefined

export function arm(order: KillPoint | undefined): void {
  armed = order
}

/** Marks a point. Kills this process if the point is armed. */
export function reach(point: string): void {
  if (armed?.point !== point) return
  armed = { point, times: armed.times - 1 }
  if (armed.times <= 0) process.kill(process.pid, 'SIGKILL')
}
