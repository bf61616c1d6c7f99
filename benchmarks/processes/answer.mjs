/**
 * Answers each message of the benchmark's own process with what the named command gives, and `usage` with what this process took
 * so far: CPU (µs), memory (bytes), handles. Ends with the parent, however that ends.
 */
export function answer(ready, commands = {}) {
  const all = { usage, ...commands }
  process.on('disconnect', () => process.exit())
  process.on('SIGTERM', () => process.exit())
  process.on('SIGINT', () => undefined) // Ctrl-C reaches us too; the parent ends us
  process.on('message', async ({ command, ...details }) =>
    process.send((await all[command](details)) ?? {}),
  )
  process.send(ready)
}

/** With `collect`, memory is what is left after a collection. */
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
