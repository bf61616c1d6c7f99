/**
 * Answers each message of the parent with the result of the command. The command `usage` returns
 * CPU time (µs), memory (bytes) and handles. The process ends with its parent.
 */
export function answer(ready, commands = {}) {
  const all = { usage, ...commands }
  process.on('disconnect', () => process.exit())
  process.on('SIGTERM', () => process.exit())
  process.on('SIGINT', () => undefined) // After Ctrl-C, the parent ends this process.
  process.on('message', async ({ command, ...details }) =>
    process.send((await all[command](details)) ?? {}),
  )
  process.send(ready)
}

/** With `collect`, collects garbage first. */
export function usage({ collect = false } = {}) {
  if (collect) globalThis.gc()
  const { user, system } = process.cpuUsage()
  const memory = { rss: process.memoryUsage.rss(), peakRss: process.resourceUsage().maxRSS * 1024 }
  return {
    at: performance.now(),
    cpuMicros: user + system,
    ...memory,
    handles: process.getActiveResourcesInfo().length,
  }
}
