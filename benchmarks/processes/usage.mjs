/** CPU of this process so far (µs) and its memory (bytes). */
export function usage() {
  const { user, system } = process.cpuUsage()
  return { cpuMicros: user + system, rss: process.memoryUsage.rss() }
}
