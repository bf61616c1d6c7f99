export {
  aMessage,
  anAgent,
  anApiKey,
  anEvent,
  aProject,
  aRunRequest,
  aHook,
  aWebhook,
  BUILT_AT,
  newMessage,
  PROJECT_ID,
} from './builders.js'
export type { Dice } from './dice.js'
export { createDice } from './dice.js'
export type { FakeClock } from './fake-clock.js'
export { fakeClock } from './fake-clock.js'
export { fakeCrypto } from './fake-crypto.js'
export { fakeIds } from './fake-ids.js'
export { fakePlatform } from './fake-platform.js'
export { fakeRandom, seededRandom } from './fake-random.js'
export type { FakeRuntime, FakeRuntimeOptions } from './fake-runtime.js'
export { fakeRuntime } from './fake-runtime.js'
export type { FakeSender, FakeSenderOptions } from './fake-sender.js'
export { accepted, fakeSender, refused, unreachable } from './fake-sender.js'
export type { Fault, MemoryStorage, StorageMethod } from './memory-storage.js'
export { memoryStorage } from './memory-storage.js'
export { memoryChunkRelay } from './memory-chunk-relay.js'
export { memoryWorkSignal } from './memory-work-signal.js'
export type { RecordingTelemetry } from './recording-telemetry.js'
export { recordingTelemetry } from './recording-telemetry.js'
export type { ModelMessage, ModelSession } from './session-model.js'
export { SessionModel } from './session-model.js'
