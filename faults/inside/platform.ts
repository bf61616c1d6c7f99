import { nodePlatform as realPlatform, type NodePlatform } from '@org/agent-messaging-core/node'

export { nodeCrypto, systemClock } from '@org/agent-messaging-core/node'

let offsetMs = 0

/** From now on the server's clock is so far from the machine's. */
export function setOffset(ms: number): void {
  offsetMs = ms
}

export const offset = (): number => offsetMs

export function nodePlatform(options: Parameters<typeof realPlatform>[0]): NodePlatform {
  const platform = realPlatform(options)
  return { ...platform, clock: { ...platform.clock, now: () => platform.clock.now() + offsetMs } }
}
