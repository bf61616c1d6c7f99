export {
  aMessage,
  anAgent,
  anApiKey,
  anEvent,
  aPortalSession,
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
export type { FakeClock } from './fakes/fake-clock.js'
export { fakeClock } from './fakes/fake-clock.js'
export { fakeCrypto } from './fakes/fake-crypto.js'
export { fakeIds } from './fakes/fake-ids.js'
export type { FakeMessaging, FakeMessagingOptions, SentWebhook } from './fakes/fake-messaging.js'
export { fakeMessaging } from './fakes/fake-messaging.js'
export { fakePlatform } from './fakes/fake-platform.js'
export { fakeRandom, seededRandom } from './fakes/fake-random.js'
export type { FakeRuntime, FakeRuntimeOptions } from './fakes/fake-runtime.js'
export { fakeRuntime } from './fakes/fake-runtime.js'
export type { FakeSender, FakeSenderOptions } from './fakes/fake-sender.js'
export { accepted, fakeSender, refused, unreachable } from './fakes/fake-sender.js'
export type { Fault, MemoryStorage, StorageMethod } from './memory/memory-storage.js'
export { memoryStorage } from './memory/memory-storage.js'
export { memoryChunkRelay } from './memory/memory-chunk-relay.js'
export { memoryWorkSignal } from './memory/memory-work-signal.js'
export { refusalOf } from './fakes/refusal-of.js'
export type { RecordingTelemetry } from './fakes/recording-telemetry.js'
export { recordingTelemetry } from './fakes/recording-telemetry.js'
export type { ModelMessage, ModelSession } from './session-model.js'
export { SessionModel } from './session-model.js'
export { mapped, unwrap, unwrapError } from './unwrap.js'
