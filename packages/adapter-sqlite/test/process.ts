import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'

export type Report = {
  readonly alone: boolean
  readonly messages: string[]
  readonly deliveries: string[]
}

/** Starts a program that uses the built package. Kills it at the end of the test. */
export function start(program: URL, ...args: (string | number)[]): ChildProcess {
  const child = fork(program, args.map(String), { execArgv: ['--expose-gc'] })
  onTestFinished(() => kill(child))
  return child
}

/** Returns the program's first message. */
export async function report(child: ChildProcess): Promise<Report> {
  const exit = once(child, 'exit').then(([code, signal]) =>
    Promise.reject(new Error(`ended without a message: ${code ?? signal}`)),
  )
  const [message] = await Promise.race([once(child, 'message'), exit])
  return message as Report
}

/** Kills the process with SIGKILL, so that it cannot clean up. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
