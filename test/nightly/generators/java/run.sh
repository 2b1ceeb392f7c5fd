. "$TEST/tools.sh"
# Warnings of the generated code itself.
declare -A left_out=([okhttp-gson]=-rawtypes [native]=-deprecation)
for library in okhttp-gson native; do
  openapi_generator -g java --library "$library" -o "$library/client"
  mvn -q -B -f "$library/client" dependency:copy-dependencies -DincludeScope=compile > "$library/maven.log" || fail_without 'the libraries of Java'
  mkdir "$library/classes"
  classes="$library/classes:$library/client/target/dependency/*"
  # shellcheck disable=SC2046 -- no path has a space
  javac -Xlint:all,"${left_out[$library]}" -Werror -d "$library/classes" -cp "$classes" \
    Check.java "$library/Library.java" $(find "$library/client/src/main" -name '*.java')
  java -cp "$classes" Check
done
