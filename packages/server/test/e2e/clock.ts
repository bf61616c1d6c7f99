/**
 * `NODE_OPTIONS` for a process with another time of day: off by `CLOCK_OFF_MS` from its start, and
 * by `CLOCK_JUMP_MS` more from a SIGUSR2 on.
 */
const source = `
  const now = Date.now
  let offMs = Number(process.env.CLOCK_OFF_MS ?? 0)
  Date.now = () => now() + offMs
  process.on('SIGUSR2', () => { offMs += Number(process.env.CLOCK_JUMP_MS ?? 0) })`

export const otherClock = (variables: Readonly<Record<string, string>>) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}`,
  SERVICE_WEBHOOK_THREAD: 'off',
  ...variables,
})
