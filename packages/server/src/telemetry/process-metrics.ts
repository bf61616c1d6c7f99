import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Instruments } from './instruments.js'

const NANOSECONDS = 1e9
const MICROSECONDS = 1e6

/** The process and its event loop, under the names that Node's Prometheus clients share. */
export function processMetrics({ counter, gauge }: Instruments) {
  const cpu = counter('process_cpu_seconds', 'CPU time of the process, user and system.')
  const started = gauge('process_start_time_seconds', 'Start of the process, in Unix time.')
  const resident = gauge('process_resident_memory_bytes', 'Resident memory of the process.')
  const files = gauge('process_open_fds', 'Open file descriptors, on Linux.')
  const heapUsed = gauge('nodejs_heap_size_used_bytes', 'Used size of the heap.')
  const heapTotal = gauge('nodejs_heap_size_total_bytes', 'Size of the heap.')
  const external = gauge('nodejs_external_memory_bytes', 'Memory outside the heap.')
  const showLag = eventLoopLag(gauge)
  let countedCpu = 0

  return {
    show(): void {
      const { user, system } = process.cpuUsage()
      const cpuSeconds = (user + system) / MICROSECONDS
      cpu.inc({}, cpuSeconds - countedCpu)
      countedCpu = cpuSeconds
      const memory = process.memoryUsage()
      resident.set(memory.rss)
      heapUsed.set(memory.heapUsed)
      heapTotal.set(memory.heapTotal)
      external.set(memory.external)
      started.set(performance.timeOrigin / 1_000)
      const openFiles = countOpenFiles()
      if (openFiles !== undefined) files.set(openFiles)
      showLag()
    },
  }
}

/** The delays of the event loop since the last call. */
function eventLoopLag(gauge: Instruments['gauge']): () => void {
  const p50 = gauge('nodejs_eventloop_lag_p50_seconds', 'Median delay of the event loop.')
  const p99 = gauge('nodejs_eventloop_lag_p99_seconds', '99th percentile of these delays.')
  const max = gauge('nodejs_eventloop_lag_max_seconds', 'Longest of these delays.')
  const delays = monitorEventLoopDelay({ resolution: 10 })
  delays.enable()
  return () => {
    p50.set(delays.percentile(50) / NANOSECONDS)
    p99.set(delays.percentile(99) / NANOSECONDS)
    max.set(delays.max / NANOSECONDS)
    delays.reset()
  }
}

function countOpenFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}
