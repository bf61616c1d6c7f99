import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ActorsTold } from './actors.js'

const ACTORS = fileURLToPath(new URL('actors.js', import.meta.url))

export type ActorsProcess = { readonly url: string; behaveWell(): void; close(): Promise<void> }

/** The receivers and the remote agent. */
export async function actorsProcess(folder: string, seed: number, slowMs: number): Promise<ActorsProcess> {
  const child = fork(ACTORS, [folder, String(seed), String(slowMs)])
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    url: `http://127.0.0.1:${port}`,
    behaveWell: () => void child.send({ good: true } satisfies ActorsTold),
    close: async () => {
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    },
  }
}
