import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { ActorsCommand } from './actors.js'
import { programs } from './programs.js'

export type ActorsProcess = { readonly url: string; stopFailing(): void; close(): Promise<void> }

/** Starts the process of the receivers and the remote agent. */
export async function actorsProcess(
  folder: string,
  seed: number,
  slowMs: number,
): Promise<ActorsProcess> {
  const child = fork(programs.actors, [folder, String(seed), String(slowMs)], { execArgv: [] })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    url: `http://127.0.0.1:${port}`,
    stopFailing: () => void child.send({ good: true } satisfies ActorsCommand),
    close: async () => {
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    },
  }
}
