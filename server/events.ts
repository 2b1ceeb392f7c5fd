import { channel } from 'node:diagnostics_channel';

/** A channel for one kind of event within this process. */
export interface EventChannel<Message> {
  readonly hasSubscribers: boolean;
  publish(message: Message): void;
  subscribe(listener: (message: Message) => void): void;
  unsubscribe(listener: (message: Message) => void): void;
}

/** Creates the node:diagnostics_channel `hosting-api:<name>`. */
export const createEvent = <Message>(name: string) =>
  channel(`hosting-api:${name}`) as unknown as EventChannel<Message>;
