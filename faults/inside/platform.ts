import { nodePlatform as realPlatform, type NodePlatform } from '@org/agent-messaging-core/node'

export * from '@org/agent-messaging-core/node'

let offsetMs = 0

/** Sets the difference between the server's clock and the machine's clock. */
export function setOffset(ms: number): void {
  offsetMs = ms
}

export function nodePlatform(options: Parameters<typeof realPlatform>[0]): NodePlatform {
  const platform = realPlatform(options)
  return { ...platform, clock: { ...platform.clock, now: () => platform.clock.now() + offsetMs } }
}
