import { fakeClock } from './fake-clock.js'
import { fakeCrypto } from './fake-crypto.js'
import { fakeIds } from './fake-ids.js'
import { fakeRandom } from './fake-random.js'
import { fakeRuntime, type FakeRuntimeOptions } from './fake-runtime.js'
import { fakeSender } from './fake-sender.js'
import { memoryStorage } from '../memory/memory-storage.js'
import { noTracing } from '@org/agent-messaging-core/runtime'
import { recordingTelemetry } from './recording-telemetry.js'

/**
 * Everything that `createService` asks for, as fakes, each at hand for the test. `runtime` answers
 * as the test says, or as the `handler` given here.
 */
export function fakePlatform(options: FakeRuntimeOptions = {}) {
  const runtime = fakeRuntime(options)
  const crypto = fakeCrypto()
  return {
    ...{ storage: memoryStorage(), sender: fakeSender(), runtime, runtimes: [runtime] },
    ...{
      clock: fakeClock(),
      random: fakeRandom(),
      ids: fakeIds(),
      crypto,
      telemetry: recordingTelemetry(),
      tracing: noTracing(crypto.randomBytes),
    },
  }
}
