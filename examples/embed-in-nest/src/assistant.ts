import { setTimeout } from 'node:timers/promises'

/** Replace this function by a call of your model. Each piece that it yields is streamed. */
export async function* assistant({ message }: { message: string }): AsyncGenerator<string> {
  for (const word of `You said: ${message}`.split(/(?<= )/)) {
    yield word
    await setTimeout(50)
  }
}
