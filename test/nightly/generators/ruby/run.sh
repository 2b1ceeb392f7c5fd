. "$TEST/tools.sh"
ruby -e 'require "typhoeus"' || fail_without ruby-typhoeus
openapi_generator -g ruby -o client
ruby -I client/lib check.rb
