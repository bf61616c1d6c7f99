/**
 * `NODE_OPTIONS` for a process with another time of day: off by `CLOCK_OFF_MS` from its start, and
 * by the next of `CLOCK_JUMPS_MS` more from each SIGUSR2 on.
 */
const source = `
  const now = Date.now
  let offMs = Number(process.env.CLOCK_OFF_MS ?? 0)
  Date.now = () => now() + offMs
  const jumps = (process.env.CLOCK_JUMPS_MS ?? '').split(',')
  process.on('SIGUSR2', () => { offMs += Number(jumps.shift() ?? 0) })`

export const otherClock = (variables: Readonly<Record<string, string>>) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}`,
  SERVICE_WEBHOOK_THREAD: 'off',
  ...variables,
})
